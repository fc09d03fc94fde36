import { parse, stringify } from "yaml";

/** The rule file as the resource that the Prometheus Operator reads. */
export function prometheusRule(rulesText: string, configPath: string): string {
  const resource = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "pacewatch", labels: { "app.kubernetes.io/name": "pacewatch" } },
    spec: parse(rulesText) as unknown,
  };
  const header = `# Written by "npm run generate" from ${configPath}.\n`;
  return header + stringify(resource, { lineWidth: 0, blockQuote: "literal" });
}
