/** The final status codes of IANA's HTTP registry (2xx to 5xx), so that a wild upstream cannot grow our series. */
const REGISTERED = [
  [200, 201, 202, 203, 204, 205, 206, 207, 208, 226],
  [300, 301, 302, 303, 304, 305, 307, 308],
  [400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417],
  [421, 422, 423, 424, 425, 426, 428, 429, 431, 451],
  [500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511],
].flat();

const REGISTERED_SET: ReadonlySet<number> = new Set(REGISTERED);

/** Every value that the label `code` can have. */
export const CODE_LABELS: readonly string[] = [...REGISTERED.map(String), "other"];

export function codeLabel(status: number): string {
  return REGISTERED_SET.has(status) ? String(status) : "other";
}
