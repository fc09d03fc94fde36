import type { z } from "zod";
import { filePath } from "./leaves.ts";
import type { Rule } from "./notes.ts";
import { together } from "./rules.ts";

type OptionalPath = z.ZodOptional<z.ZodType<string, string>>;

export const tlsFiles: Readonly<Record<"ca_file" | "cert_file" | "key_file", OptionalPath>> = {
  ca_file: filePath("certificates").optional().describe("PEM certificates to trust instead of the system's."),
  cert_file: filePath("certificates")
    .optional()
    .describe("Our own PEM certificate, where the other side asks for one."),
  key_file: filePath("certificates").optional().describe("The PEM key of cert_file."),
};

export const certificateAndKey: Rule = together("cert_file", "key_file");
