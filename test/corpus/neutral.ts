/** What says nothing of a refusal changes nothing of what it is taken for, wherever it stands in the answer. */

import { entriesOf, type RefusalEntry } from "./entries.ts";
import { toldOf } from "./told.ts";

const SENTENCES = [
  "Hello and welcome to our API.",
  "Thank you for using our service, and have a nice day!",
  "Read more in our docs: https://docs.example.com/errors.",
  "This was request 12 of today.",
  "You have made 12 requests this minute.",
  "This is your 3rd call this hour.",
  "You have sent 12 messages this month.",
  "You have 12 credits.",
  "Today is 2026-11-20.",
  "This answer was made on Friday, 20 November 2026 at 12:00:00 UTC.",
  "This key was made on 2026-01-01.",
  "Plan: Pro (monthly).",
];

/** A page that says more than some 300 characters is not about us, and one sentence more makes this one say so much. */
const TOO_LONG_THEN = new Set(["overpass-200"]);

/** Good ones that say in a word that something failed: any text beside it may say why. */
const FAILED_THEN = new Set(["good-59", "good-71", "4g2"]);

export type Beside = (entry: RefusalEntry, sentence: string) => string | undefined;

function jsonOf({ body }: RefusalEntry): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The longest text with a space in it: what is said to people. */
function* textsIn(value: unknown): Generator<readonly [holder: object, key: string, text: string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, each] of Object.entries(value)) {
    if (typeof each === "string" && /\s/.test(each)) yield [value, key, each];
    else yield* textsIn(each);
  }
}

function inText(entry: RefusalEntry, join: (text: string) => string): string | undefined {
  const json = jsonOf(entry);
  if (json === undefined) return entry.body === "" || entry.body.includes("<") ? undefined : join(entry.body);
  const [longest] = [...textsIn(json)].sort((one, other) => other[2].length - one[2].length);
  if (longest === undefined) return undefined;
  Reflect.set(longest[0], longest[1], join(longest[2]));
  return JSON.stringify(json);
}

const inPage =
  (tag: RegExp, join: (tag: string, sentence: string) => string): Beside =>
  ({ body }, sentence) =>
    tag.test(body) ? body.replace(tag, (found) => join(found, `<p>${sentence}</p>`)) : undefined;

export const BESIDE: readonly (readonly [where: string, Beside])[] = [
  [
    "behind what is said",
    (entry, sentence) => inText(entry, (text) => `${text.replace(/[.!?]?\s*$/, ".")} ${sentence}`),
  ],
  ["before what is said", (entry, sentence) => inText(entry, (text) => `${sentence} ${text}`)],
  ["at the end of the page", inPage(/<\/body>/i, (end, sentence) => `${sentence}${end}`)],
  ["at the beginning of the page", inPage(/<body[^>]*>/i, (begin, sentence) => `${begin}${sentence}`)],
  [
    "in a member of its own",
    (entry, sentence) => {
      const json = jsonOf(entry);
      const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
      // Of a refusal with 200, a member that is not known may be the content that was asked for.
      const isSaid = entry.status >= 400 || entry.means === "ok";
      return isObject && isSaid && !FAILED_THEN.has(entry.id)
        ? JSON.stringify({ ...json, note: sentence })
        : undefined;
    },
  ],
];

/** The verdicts of these files that a sentence changes, of so many that were tried. */
export function changedBy(
  beside: Beside,
  files: readonly string[],
): { readonly changed: readonly string[]; readonly tried: number } {
  const changed: string[] = [];
  let tried = 0;
  for (const entry of files.flatMap(entriesOf).filter(({ id }) => !TOO_LONG_THEN.has(id))) {
    const told = toldOf(entry).means;
    for (const sentence of SENTENCES) {
      const body = beside(entry, sentence);
      if (body === undefined) continue;
      tried += 1;
      const { means } = toldOf({ ...entry, body });
      if (means !== told) changed.push(`${entry.id}: ${told}, and ${means} with "${sentence}"`);
    }
  }
  return { changed, tried };
}
