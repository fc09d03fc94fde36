import { parseAst } from "rolldown/parseAst";

/** A place in a source where a small change makes another program. */
export type Site = {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** For people: `< becomes <=`. */
  readonly change: string;
  /** From 1. */
  readonly line: number;
};

type Node = {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
};

const OPERATORS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "&&": "||",
  "||": "&&",
  "+=": "-=",
  "-=": "+=",
};

/** Calls that only tell people something, or only clean up: a program without them does the same. */
const TELLERS = new Set(["log", "console"]);
const TELLS = new Set(["onWarning", "onBug", "warn", "info", "debug", "trace"]);
const CLEANS_UP = new Set([
  "unref",
  "ref",
  "off",
  "removeListener",
  "removeEventListener",
  "clearTimeout",
  "clearInterval",
  "clearImmediate",
  "catch",
  "freeze",
  "super",
]);

/** All that a test could notice: nothing in types, imports, comments, or in the text of a message. */
export function sitesIn(source: string): readonly Site[] {
  const sites: Site[] = [];
  const lineAt = lineFinder(source);
  const add = (start: number, end: number, replacement: string, change: string): void => {
    sites.push({ start, end, replacement, change, line: lineAt(start) });
  };

  function visit(node: Node): void {
    if (isUnseen(node)) return;
    const { type, operator, left, right, argument, expression, test, value, start, end } = node;
    const text = source.slice(start, end);
    if (typeof operator === "string" && isNode(left) && isNode(right)) {
      const other = OPERATORS[operator];
      const at = source.indexOf(operator, left.end);
      const joinsText = operator.startsWith("+") && (isText(left) || isText(right));
      if (other !== undefined && !joinsText && at < right.start)
        add(at, at + operator.length, other, `${operator} becomes ${other}`);
    }
    if (type === "UnaryExpression" && (operator === "!" || operator === "-") && isNode(argument)) {
      const bare = source.slice(argument.start, end);
      add(start, end, operator === "!" ? `!!(${bare})` : `(${bare})`, `${operator} is left out`);
    }
    if (isNode(test) && (type === "IfStatement" || type === "ConditionalExpression")) {
      if (test.type !== "BinaryExpression" && test.type !== "UnaryExpression") {
        const asked = source.slice(test.start, test.end);
        add(test.start, test.end, `!(${asked})`, `${shortened(asked)} is turned round`);
      }
    }
    if (type === "Literal" && typeof value === "number") {
      const other = value === 0 ? "1" : value === 1 ? "0" : String(2 * value);
      add(start, end, other, `${text} becomes ${other}`);
    }
    if (type === "ExpressionStatement" && isNode(expression) && isStep(expression))
      add(start, end, ";", `left out: ${shortened(text)}`);
    if (type === "ReturnStatement" && argument === null) add(start, end, ";", "left out: return");
    for (const child of childrenOf(node)) visit(child);
  }

  for (const statement of childrenOf(program(source))) visit(statement);
  return sites.toSorted((a, b) => a.start - b.start || a.end - b.end);
}

export function changed(source: string, { start, end, replacement }: Site): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

function program(source: string): Node {
  const parsed: unknown = parseAst(source, { lang: "ts" });
  if (!isNode(parsed)) throw new Error("the parser returned no program");
  return parsed;
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    typeof value.type === "string" &&
    "start" in value &&
    typeof value.start === "number" &&
    "end" in value &&
    typeof value.end === "number"
  );
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node)
    .flatMap((value: unknown) => (Array.isArray(value) ? value : [value]))
    .filter((value) => isNode(value));
}

/** These hold an expression that runs, beside a type that does not. */
const TYPED = new Set(["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"]);

function isUnseen(node: Node): boolean {
  const { type, callee, key, computed } = node;
  if (type.startsWith("TS")) return !TYPED.has(type);
  if (type === "ImportDeclaration" || type === "ThrowStatement" || type === "TemplateLiteral") return true;
  if (type === "NewExpression") return isNode(callee) && nameOf(callee).endsWith("Error");
  if (type === "CallExpression" && isNode(callee))
    return TELLS.has(nameOf(callee)) || [...namesIn(callee)].some((name) => TELLERS.has(name));
  // A number or a sign in a name is no part of what runs.
  return (
    type === "Property" &&
    computed === false &&
    isNode(key) &&
    key.type === "Literal" &&
    node["value"] === key
  );
}

/** Does something, rather than being something. */
function isStep(expression: Node): boolean {
  const { type, argument, callee } = expression;
  if (type === "AwaitExpression" || (type === "UnaryExpression" && expression["operator"] === "void"))
    return isNode(argument) && isStep(argument);
  if (type === "AssignmentExpression" || type === "UpdateExpression") return true;
  return (
    type === "CallExpression" && isNode(callee) && !isUnseen(expression) && !CLEANS_UP.has(nameOf(callee))
  );
}

/** The last of `this.#log.warn`. */
function nameOf(callee: Node): string {
  const { type, name, property, expression } = callee;
  if (type === "Super") return "super";
  if (typeof name === "string") return name;
  if (isNode(property)) return nameOf(property);
  return isNode(expression) ? nameOf(expression) : "";
}

/** All of `this.#log.warn`. */
function* namesIn(callee: Node): Generator<string> {
  const { object } = callee;
  yield nameOf(callee);
  if (isNode(object)) yield* namesIn(object);
}

function isText({ type, value, left, right, operator }: Node): boolean {
  if (type === "TemplateLiteral" || (type === "Literal" && typeof value === "string")) return true;
  return operator === "+" && ((isNode(left) && isText(left)) || (isNode(right) && isText(right)));
}

function lineFinder(source: string): (at: number) => number {
  const starts = [0, ...Array.from(source.matchAll(/\n/g), ({ index }) => index + 1)];
  return (at) => starts.findLastIndex((start) => start <= at) + 1;
}

const MOST_SHOWN_CHARS = 60;

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= MOST_SHOWN_CHARS ? line : `${line.slice(0, MOST_SHOWN_CHARS - 1)}…`;
}
