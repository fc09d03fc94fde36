/** The page of every config key, written from the JSON Schema that the config is read with. */

import { CONFIG_SCHEMA } from "../src/app/features/sections.ts";
import { configJsonSchemaText } from "../src/config/schema/json-schema.ts";
import { markdownCode } from "./markdown-table.ts";

type Schema = {
  readonly description?: string;
  readonly default?: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
};

const EXAMPLES: Readonly<Record<string, string>> = {
  "web.allowed_hosts": "[status.example.com]",
  deny_addresses: "[10.0.0.0/8, 169.254.0.0/16]",
  "budgets.NAME.rate": "{ requests: 60, per: 1m }",
  "budgets.NAME.quota": "{ requests: 400000, per: 30d, on_exhaust: stop }",
  "upstreams[].base_url": "https://api.example.com",
  "upstreams[].auth": "{ bearer: { env: API_KEY } }",
  "upstreams[].headers": "{ X-Team: growth }",
  "upstreams[].budget": "ai-router",
  "upstreams[].every": "15s",
  "upstreams[].cron": '"0 9 * * MON-FRI"',
  "upstreams[].time_zone": "Europe/Berlin",
  "upstreams[].timeout": "10s",
  "upstreams[].expect.status": "2xx",
  "upstreams[].values": "[{ name: credits, path: /data/left, credit: true }]",
  "upstreams[].sla.bad_unit": "{ failures: 3 }",
  "upstreams[].sla.credits": "[{ below: 99.9%, credit: 10% }, { below: 99%, credit: 25% }]",
  "upstreams[].sla.time_zone": "Europe/Berlin",
  "upstreams[].labels": "{ team: growth }",
  "state.path": "data/pacewatch.db",
};

/** Where more is said. */
const EXPLAINED: Readonly<Record<string, string>> = {
  "web.config_file": "[api.md](api.md)",
  "budgets.NAME.linger": "[promise.md](promise.md)",
  fleet: "[fleet.md](fleet.md)",
  vantage: "[several places](scale.md#several-places)",
  "notify[].kind": "[what each needs](notifications.md#where-it-goes)",
  "upstreams[].auth.oauth2": "[oauth2.md](oauth2.md)",
  "upstreams[].expect": "[signals.md](signals.md)",
  "upstreams[].sla": "[report.md](report.md)",
  "upstreams[].values": "[values.md](values.md)",
  "web.badges": "[report.md](report.md)",
};

export function configurationPage(): string {
  const schema: Schema = JSON.parse(configJsonSchemaText(CONFIG_SCHEMA));
  const inherited = inheritedBy(schema);
  const sections = Object.entries(schema.properties ?? {}).map(([key, section]) => {
    const lines = linesOf(key, section, inherited);
    const facts = [section.description ?? "", requiredOf(key, schema, inherited), explainedAt(key)];
    const said = [facts.filter((fact) => fact !== "").join(" "), lines.join("").trimEnd()].filter(
      (part) => part !== "",
    );
    return `## ${key}\n\n${said.join("\n\n")}\n`;
  });
  return `# Configuration

<!-- Written by \`npm run generate\` from src/config/schema: change it there. -->

A config is YAML. Each key is below, with what it is if it is not written. What surprises most:

- **\`path\` is \`/v1/resources\`** unless it is written: it is appended to \`base_url\`.
- **History and quotas outlive a restart only with \`state.path\`.** Without it they are kept in memory.
- **\`cron\` is in UTC** unless \`time_zone\` is written beside it. \`every\` needs none.
- **\`budget\` is required**: it says what the upstream's owner allows to your key. Upstreams with the same key share one.
- **Keys are never written in a config**: \`env\` names a variable, \`file\` a file.
- **\`defaults\`** has what all upstreams share: each key of an upstream but its name. What an upstream says itself wins.

\`\${NAME}\` and \`\${NAME:-default}\` are replaced by variables of the environment in every value. Durations are written as
\`250ms\`, \`15s\`, \`5m\`, \`1h\` or \`30d\`. \`pacewatch check\` says what is wrong, with line and column; an editor does with
[config/schema.json](../config/schema.json).

${sections.join("\n")}`;
}

/** What each upstream needs and may have from `defaults`: of each list one key. */
type Inherited = readonly (readonly string[])[];

function inheritedBy({ allOf = [] }: Schema): Inherited {
  return allOf.map(({ anyOf = [] }) => {
    const items = anyOf.at(-1)?.properties?.["upstreams"]?.items;
    return (items?.anyOf ?? []).flatMap(({ required = [] }) => required);
  });
}

function linesOf(path: string, written: Schema, inherited: Inherited): readonly string[] {
  // It has the keys of an upstream, which are written once.
  if (path === "defaults") return [];
  const schema = sectionIn(written);
  if (schema.items !== undefined) return linesOf(`${path}[]`, schema.items, inherited);
  if (typeof schema.additionalProperties === "object" && sectionIn(schema.additionalProperties).properties)
    return linesOf(`${path}.NAME`, schema.additionalProperties, inherited);
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const at = `${path}.${key}`;
    const required = requiredOf(key, schema, path === "upstreams[]" ? inherited : []);
    return [lineOf(at, inner, required), ...linesOf(at, inner, inherited)];
  });
}

function requiredOf(key: string, { required = [] }: Schema, inherited: Inherited): string {
  if (required.includes(key)) return "Required.";
  const alternatives = inherited.find((keys) => keys.includes(key));
  if (alternatives === undefined) return "";
  const which = alternatives.length === 1 ? "" : `: ${alternatives.map(markdownCode).join(" or ")}`;
  return `Required, here or in \`defaults\`${which}.`;
}

/** Of alternatives, the one that has keys; a variable in its place has none. */
function sectionIn(schema: Schema): Schema {
  const sections = (schema.anyOf ?? []).map(sectionIn);
  return sections.find(({ properties, items }) => properties ?? items) ?? schema;
}

function lineOf(path: string, schema: Schema, required: string): string {
  const facts = [
    required,
    valuesOf(schema),
    defaultOf(schema),
    EXAMPLES[path] === undefined ? "" : `Example: ${markdownCode(EXAMPLES[path])}.`,
    explainedAt(path),
  ];
  const said = [schema.description ?? "", ...facts].filter((fact) => fact !== "");
  return `- **\`${path}\`**: ${said.join(" ")}\n`;
}

function explainedAt(path: string): string {
  return EXPLAINED[path] === undefined ? "" : `More: ${EXPLAINED[path]}.`;
}

/** A list that has all of them by default names them there. */
function valuesOf(schema: Schema): string {
  const isList = schema.items !== undefined;
  const values = isList && schema.default !== undefined ? [] : textsIn(schema.items ?? schema);
  if (values.length < 2) return "";
  return `${isList ? "Any" : "One"} of: ${values.map(markdownCode).join(", ")}.`;
}

/** The other alternative is a variable; where there are more, the description names them. */
function textsIn({ enum: texts, anyOf: [first] = [] }: Schema): readonly string[] {
  return texts ?? first?.enum ?? [];
}

function defaultOf({ default: value }: Schema): string {
  if (value === undefined || (typeof value === "object" && Object.keys(value ?? {}).length === 0)) return "";
  return `Default: ${markdownCode(typeof value === "string" ? value : JSON.stringify(value))}.`;
}
