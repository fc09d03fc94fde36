import { type Arbitrary, integer, oneof } from "fast-check";

/** Any character. The library's own `binary` takes more than a second of CPU to list them all. */
export const CODE_POINT: Arbitrary<string> = oneof(
  integer({ min: 0, max: 0xd7ff }),
  integer({ min: 0xe000, max: 0x10ffff }),
).map((point) => String.fromCodePoint(point));
