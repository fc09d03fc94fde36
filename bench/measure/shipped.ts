import { fileURLToPath } from "node:url";
import type { Form } from "../../tools/image-command.ts";
import type { Nginx } from "../programs/nginx.ts";
import { Pacewatch } from "../programs/pacewatch.ts";

const CONFIG = fileURLToPath(new URL("../../config/pacewatch.yaml", import.meta.url));

/** With the config that ships: two upstreams. */
export function startShipped(nginx: Nginx, form: Form = "bundle"): Promise<Pacewatch> {
  const environment = {
    EMAIL_API_BASE_URL: nginx.url("http"),
    EMAIL_API_KEY: "test-key-email",
    AI_ROUTER_BASE_URL: nginx.url("http"),
    AI_ROUTER_API_KEY: "test-key-ai-router",
  };
  return Pacewatch.startWith(CONFIG, environment, { form });
}
