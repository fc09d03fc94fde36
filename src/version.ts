import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
export const USER_AGENT: string = `pacewatch/${VERSION}`;
