import { parse, stringify } from "yaml";

const HEADER = `# Written by "npm run generate" from config/pacewatch.yaml, with the same rules as config/prometheus/rules.yml.
`;

/** The rule file as the resource that the Prometheus Operator reads. */
export function prometheusRule(rulesText: string): string {
  const resource = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "pacewatch", labels: { "app.kubernetes.io/name": "pacewatch" } },
    spec: parse(rulesText) as unknown,
  };
  return HEADER + stringify(resource, { lineWidth: 0, blockQuote: "literal" });
}
