import * as fc from "fast-check";

/** Bytes as text, one character each: so that a case can be read, kept and shrunk. */
export const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");

/** Separated by a sign that none of them has. */
export function pieces(text: string): readonly string[] {
  return text.split("¦");
}

type Mutation = (text: string) => string;

/** Where, as a part of the length; how much; and what. */
function placed(change: (text: string, at: number) => string, where: number): Mutation {
  return (text) => change(text, Math.floor(where * (text.length + 1)));
}

const WHERE = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

function mutations(words: readonly string[]): fc.Arbitrary<Mutation> {
  const anything = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...words) },
    {
      weight: 1,
      arbitrary: fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 8 }),
    },
  );
  return fc.oneof(
    fc
      .tuple(WHERE, anything)
      .map(([where, piece]) => placed((text, at) => text.slice(0, at) + piece + text.slice(at), where)),
    fc
      .tuple(WHERE, anything)
      .map(([where, piece]) =>
        placed((text, at) => text.slice(0, at) + piece + text.slice(at + piece.length), where),
      ),
    fc
      .tuple(WHERE, fc.nat(40))
      .map(([where, length]) => placed((text, at) => text.slice(0, at) + text.slice(at + length), where)),
    fc
      .tuple(WHERE, fc.nat(200), fc.integer({ min: 1, max: 50 }))
      .map(([where, length, times]) =>
        placed(
          (text, at) => text.slice(0, at) + text.slice(at, at + length).repeat(times) + text.slice(at),
          where,
        ),
      ),
    WHERE.map((where) => placed((text, at) => text.slice(0, at), where)),
  );
}

/** One of these texts, changed in a few places by pieces of its own language or by any bytes. */
export function mutated(corpus: readonly string[], words: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...corpus), fc.array(mutations(words), { maxLength: 6 }))
    .map(([text, changes]) => changes.reduce((changed, change) => change(changed), text));
}
