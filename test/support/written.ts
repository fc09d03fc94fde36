/** A text as careless servers write it: every way is undone by somebody's usual tool. */

type Writing = (text: string) => string;

const byCharacter =
  (write: (code: number, character: string) => string): Writing =>
  (text) =>
    Array.from(text, (character) => write(character.charCodeAt(0), character)).join("");

const hexOf = (code: number, digits = 2): string => code.toString(16).padStart(digits, "0");
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const json = (text: string): string => JSON.stringify(text);
const letters = byCharacter((code) => `\\u${hexOf(code, 4)}`);

export const WRITINGS: Readonly<Record<string, Writing>> = {
  "as it is": (text) => text,
  "in capitals": (text) => text.toUpperCase(),
  "in a URL": encodeURIComponent,
  "in a URL, every letter": byCharacter((code) => `%${hexOf(code)}`),
  "in a URL, every second letter": (text) =>
    text.replaceAll(/(.)(.)/g, (_, a, b) => a + encodeURIComponent(b)),
  "in a URL in a URL": (text) => encodeURIComponent(byCharacter((code) => `%${hexOf(code)}`)(text)),
  "in a form": (text) => new URLSearchParams({ text }).toString(),
  "in JSON": json,
  "in JSON, every letter": letters,
  "in JSON three times": (text) => json(json(json(text))),
  "in JSON three times, every letter": (text) => json(json(letters(text))),
  "in JSON as PHP writes it": (text) => json(text).replaceAll("/", String.raw`\/`),
  "as bytes of a string": byCharacter((code) => `\\x${hexOf(code)}`),
  "in HTML": (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  "in HTML, by number": byCharacter((code) => `&#${code};`),
  "in HTML, by number of the other kind": byCharacter((code) => `&#x00${hexOf(code)};`),
  "in HTML, by number without an end": byCharacter((code) => `&#${code}`),
  "in HTML, by the other number without an end": byCharacter((code) => `&#x${hexOf(code)}`),
  "in HTML in HTML": (text) => byCharacter((code) => `&#${code};`)(text).replaceAll("&", "&amp;"),
  "in hex": (text) => Buffer.from(text).toString("hex"),
  "in hex, in capitals": (text) => Buffer.from(text).toString("hex").toUpperCase(),
  "in base64": base64,
  "in base64url": (text) => Buffer.from(text).toString("base64url"),
  "in base64, behind a word": (text) => base64(`Bearer ${text}`),
  "in base64, behind a user": (text) => base64(`us:${text} and more`),
  "in base64 of base64": (text) => base64(base64(`u:${text}`)),
  "in base64 of base64 of base64": (text) => base64(base64(base64(text))),
  "in base64, wrapped": (text) => base64(text).replaceAll(/.{4}/g, "$&\r\n"),
  "in base64, wrapped, in JSON": (text) => json(base64(text).replaceAll(/.{4}/g, "$&\n")),
  "in base64 in a URL": (text) => encodeURIComponent(base64(`${text}?`)),
  "in base64 of hex": (text) => base64(Buffer.from(text).toString("hex")),
  "in base64 of JSON": (text) => base64(json(letters(text))),
  "in base64 of 16 bits a letter": (text) => Buffer.from(text, "utf16le").toString("base64"),
  "with zeros between": byCharacter((_, character) => `${character}\u0000`),
  "with tags between, which nobody sees": byCharacter((_, character) => `${character}\u{e0001}`),
  "quoted-printable": byCharacter((code) => `=${hexOf(code).toUpperCase()}`),
  "quoted-printable, wrapped": (text) => text.replaceAll(/.{3}/g, "$&=\r\n"),
  "with spaces between": byCharacter((_, character) => `${character} `),
  "in hex, with spaces between": byCharacter((code) => `${hexOf(code)} `),
  "in hex, with line breaks between, in JSON": (text) =>
    json(byCharacter((code) => `${hexOf(code)}\n`)(text)),
};
