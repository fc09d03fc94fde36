import manifest from "../package.json" with { type: "json" };

/** The build writes it; the sources have none. */
declare const PACEWATCH_COMMIT: string | undefined;

export const VERSION: string = manifest.version;
export const USER_AGENT: string = `pacewatch/${VERSION}`;

const origin = typeof PACEWATCH_COMMIT === "string" ? `commit ${PACEWATCH_COMMIT}` : "from source";
/** For people who report a bug. */
export const VERSION_LINE: string = `${VERSION} (${origin}, Node.js ${process.versions.node})`;
