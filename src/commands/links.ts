/** Where alerts and panels link to. */
export type LinkOptions = {
  /** The URL of the folder with the runbooks. In rules it may contain Prometheus templates. */
  readonly runbooks?: string | undefined;
  /** The URL of Pacewatch's status page. */
  readonly statusPage?: string | undefined;
};

/** The URL of a folder, with a final slash. */
export function folderUrl(url: string): string {
  return url.endsWith("/") ? url : `${url}/`;
}
