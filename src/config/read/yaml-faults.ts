import type { YAMLParseError } from "yaml";

/**
 * Our own sentences for a syntax error. The parser's quote what they found, which could be a key that was
 * pasted where it does not belong.
 */
const SENTENCES: Partial<Record<YAMLParseError["code"], string>> = {
  BAD_ALIAS: "the name of an anchor or alias is not valid",
  ALIAS_PROPS: "an alias can have neither an anchor nor a tag",
  BAD_DIRECTIVE: "a directive is not valid",
  BAD_DQ_ESCAPE: "a backslash in double quotes must begin a known escape: use single quotes to keep it",
  BAD_INDENT: "the indentation is wrong, or a bracket or quote before here is not closed",
  BAD_SCALAR_START: "a value that starts with a reserved character must be quoted",
  BLOCK_AS_IMPLICIT_KEY: 'a value must not hold another ": " unless it is quoted',
  BLOCK_IN_FLOW: "a block must not stand inside [ ] or { }",
  KEY_OVER_1024_CHARS: "a key must have at most 1024 characters",
  MISSING_CHAR: "a closing quote, bracket, comma or colon is missing",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line and end with a colon",
  MULTIPLE_DOCS: "a config must be one document, received several",
  RESOURCE_EXHAUSTION: "the config is nested too deeply",
  TAB_AS_INDENT: "tabs must not be used to indent: use spaces",
  TAG_RESOLVE_FAILED: "tags (!) are not used here",
};

export function syntaxSentence(code: YAMLParseError["code"], isVariable: boolean): string {
  if (isVariable)
    return 'cannot read YAML: a variable inside { } or [ ] must be quoted, as in { key: "${NAME}" }';
  return `cannot read YAML: ${SENTENCES[code] ?? "something unexpected stands here"}`;
}
