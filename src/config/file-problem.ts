/** Why a file could not be read, in words and without its path. */
export function fileProblem(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  switch (code) {
    case "ENOENT":
      return "there is no such file";
    case "EACCES":
    case "EPERM":
      return "it may not be read (permission denied)";
    case "EISDIR":
      return "it is a directory";
    case "ENOTDIR":
      return "a part of its path is not a directory";
    case "ELOOP":
      return "its links run in a circle";
    default:
      return `reading failed (${code})`;
  }
}
