import type { Upstream } from "../../kernel/config/config.ts";
import { keyHeader, type Signer } from "../../transport/request.ts";
import { awsSigner } from "./aws-signature.ts";
import type { TokenRequest } from "./config.ts";

/** Undefined for an upstream whose key is sent as it is. */
export function signerOf({ auth }: Pick<Upstream, "auth">): Signer | undefined {
  if (auth.kind === "aws") return awsSigner(auth);
  if (auth.kind === "oauth2")
    return (_, token) => ({ headers: keyHeader("Authorization", `Bearer ${token}`) });
  return undefined;
}

/** As RFC 6749, section 4.4.2 has it. In Basic, each part is first encoded as in a form (section 2.3.1). */
export function tokenRequestSigner({ clientId, clientAuth, scopes, parameters }: TokenRequest): Signer {
  return (_, secret) => {
    const form = new URLSearchParams({ grant_type: "client_credentials" });
    if (scopes.length > 0) form.set("scope", scopes.join(" "));
    for (const [name, value] of Object.entries(parameters)) form.set(name, value);
    if (clientAuth === "basic") {
      const pair = `${encodeFormPart(clientId)}:${encodeFormPart(secret)}`;
      const headers = keyHeader("Authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
      return { headers, body: form.toString() };
    }
    form.set("client_id", clientId);
    form.set("client_secret", secret);
    return { headers: [], body: form.toString() };
  };
}

function encodeFormPart(part: string): string {
  return new URLSearchParams([["", part]]).toString().slice(1);
}
