import { parse } from "yaml";
import { rulesText, type Watchers, yamlText } from "./rules.ts";

/** The rule file as the resource that the Prometheus Operator reads. */
export function prometheusRule(watchers: Watchers): string {
  const resource = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "pacewatch", labels: { "app.kubernetes.io/name": "pacewatch" } },
    spec: parse(rulesText(watchers)) as unknown,
  };
  return `# Written by "npm run generate" from tools/rules.\n${yamlText(resource)}`;
}
