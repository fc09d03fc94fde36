import type { Format } from "./format.ts";
import { ProtobufFormat } from "./protobuf.ts";
import { TextFormat } from "./text.ts";

type Offered<Scraped> = {
  readonly mediaType: string;
  /** Those that tell one format from another. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly isText: boolean;
  readonly answer: () => Scraped;
};

/** A client may ask for these. The first is for those who do not care. */
export function formats<Scraped>(
  scraped: (format: Format) => Scraped,
): readonly [Offered<Scraped>, ...Offered<Scraped>[]] {
  const text = (mediaType: string, version: string): Offered<Scraped> => {
    const format = new TextFormat(mediaType === "application/openmetrics-text");
    return { mediaType, parameters: { version }, isText: true, answer: () => scraped(format) };
  };
  const protobuf = new ProtobufFormat();
  return [
    text("text/plain", "0.0.4"),
    text("text/plain", "1.0.0"),
    text("application/openmetrics-text", "1.0.0"),
    {
      mediaType: "application/vnd.google.protobuf",
      parameters: { proto: "io.prometheus.client.MetricFamily", encoding: "delimited" },
      isText: false,
      answer: () => scraped(protobuf),
    },
  ];
}
