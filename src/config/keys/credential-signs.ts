/** These look like credentials where none is allowed. Better to refuse one header too many than to keep a key in a file. */

import { wordSet } from "../../kernel/text/word-set.ts";

const SECRET_HEADER =
  /^(?:proxy-)?authorization$|^(?:set-)?cookie2?$|(?:^|[-_])(?:api)?keys?$|(?:^|[-_])(?:access|auth|api)[-_]?(?:key|token)|(?:^|[-_])auth$|token|secret|passw|credential|signature/i;

const SECRET_PARAMETER =
  /(?:^|[-_.])(?:sig|auth|pwd|pass|jwt|code)$|key$|apikey|token|secret|passw|credential|signature|authorization/i;

const SECRET_VALUE = /^(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate)\s+\S/i;

export function looksLikeSecretHeader(name: string, value: string): boolean {
  return SECRET_HEADER.test(name) || SECRET_VALUE.test(value.trim());
}

export function looksLikeSecretParameter(name: string): boolean {
  return SECRET_PARAMETER.test(name);
}

/** Headers that Pacewatch or the connection itself sets. */
const OWN_HEADERS = wordSet(`
  connection content-length expect host keep-alive proxy-connection te trailer transfer-encoding upgrade`);

export function isOwnHeader(name: string): boolean {
  return OWN_HEADERS.has(name.toLowerCase());
}

export const HEADER_NAME_PATTERN: RegExp = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

/** A header's value: visible ASCII, with spaces inside. */
export const HEADER_VALUE_PATTERN: RegExp = /^[\x21-\x7e](?:[\x20-\x7e]{0,2046}[\x21-\x7e])?$/;
