import { ProtobufFormat } from "./protobuf.ts";
import type { Format } from "../kernel/metrics/sample.ts";
import { TextFormat } from "./text.ts";

export type OfferedFormat = {
  readonly mediaType: string;
  /** Those that tell one format from another. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly isText: boolean;
  readonly format: Format;
};

const text = (mediaType: string, version: string): OfferedFormat => ({
  mediaType,
  parameters: { version },
  isText: true,
  format: new TextFormat(mediaType === "application/openmetrics-text"),
});

/** The first is for those who do not care. */
export const FORMATS: readonly [OfferedFormat, ...OfferedFormat[]] = [
  text("text/plain", "0.0.4"),
  text("text/plain", "1.0.0"),
  text("application/openmetrics-text", "1.0.0"),
  {
    mediaType: "application/vnd.google.protobuf",
    parameters: { proto: "io.prometheus.client.MetricFamily", encoding: "delimited" },
    isText: false,
    format: new ProtobufFormat(),
  },
];
