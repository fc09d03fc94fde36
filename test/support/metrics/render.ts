import { expose } from "../../../src/exposition/exposition.ts";
import { ProtobufFormat } from "../../../src/exposition/protobuf.ts";
import type { Format } from "../../../src/exposition/format.ts";
import type { MetricsSnapshot } from "../../../src/kernel/metrics/snapshot.ts";
import { TextFormat } from "../../../src/exposition/text.ts";
import { type DecodedFamily, decodeFamilies } from "./protobuf-decoder.ts";
import { METRICS } from "../../../src/app/features/shown.ts";

function bytesOf(snapshot: MetricsSnapshot, format: Format): Buffer {
  // A piece is only good until the next one is asked for.
  return Buffer.concat(
    expose(METRICS, snapshot, format)
      .map((piece) => Buffer.from(piece ?? ""))
      .toArray(),
  );
}

export function renderText(snapshot: MetricsSnapshot): string {
  return bytesOf(snapshot, new TextFormat(false)).toString();
}

export function renderOpenMetrics(snapshot: MetricsSnapshot): string {
  return bytesOf(snapshot, new TextFormat(true)).toString();
}

export function renderProtobuf(snapshot: MetricsSnapshot): ReadonlyMap<string, DecodedFamily> {
  return decodeFamilies(bytesOf(snapshot, new ProtobufFormat()));
}
