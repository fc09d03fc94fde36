import type { SecretSource, Upstream } from "../../kernel/config/config.ts";
import { percentDecoded } from "../../kernel/text/percent.ts";
import { type Environment, variablesIn } from "./interpolate.ts";

const PROXY_VARIABLE = /_proxy$/i;
const USER_AND_PASSWORD = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^/:@]*:([^/]*)@/i;

/** Finds them by the names of their variables. Whether other variables hold a secret cannot be known here. */
export function proxyPasswords(environment: Environment): ReadonlyMap<string, string> {
  const passwords = Object.entries(environment)
    .filter(([name]) => PROXY_VARIABLE.test(name))
    .map(
      ([name, value]) =>
        [name, percentDecoded(USER_AND_PASSWORD.exec(value?.trim() ?? "")?.[1] ?? "")] as const,
    );
  return new Map(passwords.filter(([, password]) => password !== ""));
}

/** Which variables hold a secret: those where a key is found, what is in paths and bodies, and the passwords of proxies. */
export function secretVariables(
  sources: readonly SecretSource[],
  upstreams: readonly Upstream[],
  environment: Environment,
): readonly string[] {
  const keys = sources.flatMap(({ env }) => env ?? []);
  const inRequests = upstreams.flatMap(variablesInRequest);
  return [...new Set([...keys, ...inRequests, ...proxyPasswords(environment).keys()])];
}

/** The texts of a body are searched in one: in JSON, a variable is written as it is. */
function variablesInRequest({
  pathTemplate,
  body,
}: Pick<Upstream, "pathTemplate" | "body">): readonly string[] {
  const texts = body === undefined || "file" in body ? "" : JSON.stringify(body);
  return [...variablesIn(pathTemplate?.path ?? ""), ...variablesIn(texts)];
}
