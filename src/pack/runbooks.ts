/** Where a Prometheus that was started with `--web.user-assets=docs` shows this project's own runbooks. */
export const SHIPPED_RUNBOOKS = "{{ $externalURL }}/user/runbooks/";

/** A folder's address, to which NAME.md can be appended. */
export function folderUrl(url: string): string {
  return url.endsWith("/") ? url : `${url}/`;
}
