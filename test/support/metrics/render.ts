import { expose, type Family } from "../../../src/core/metrics/exposition.ts";
import { ProtobufFormat } from "../../../src/core/metrics/protobuf.ts";
import type { Format } from "../../../src/core/metrics/sample.ts";
import type { MetricsSnapshot } from "../../../src/core/metrics/snapshot.ts";
import { TextFormat } from "../../../src/core/metrics/text.ts";
import { type DecodedFamily, decodeFamilies } from "./protobuf-decoder.ts";

function bytesOf(snapshot: MetricsSnapshot, format: Format, others: readonly Family[] = []): Buffer {
  // A piece is only good until the next one is asked for.
  return Buffer.concat(
    expose(snapshot, others, format)
      .map((piece) => Buffer.from(piece ?? ""))
      .toArray(),
  );
}

export function renderText(snapshot: MetricsSnapshot, others?: readonly Family[]): string {
  return bytesOf(snapshot, new TextFormat(false), others).toString();
}

export function renderOpenMetrics(snapshot: MetricsSnapshot, others?: readonly Family[]): string {
  return bytesOf(snapshot, new TextFormat(true), others).toString();
}

export function renderProtobuf(
  snapshot: MetricsSnapshot,
  others?: readonly Family[],
): ReadonlyMap<string, DecodedFamily> {
  return decodeFamilies(bytesOf(snapshot, new ProtobufFormat(), others));
}
