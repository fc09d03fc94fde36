import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** The repository as it is, with what is not committed, and with the same packages. It goes when it is disposed. */
export async function copyOf(root: string): Promise<{ readonly root: string } & AsyncDisposable> {
  const copy = await mkdtemp(join(tmpdir(), "pacewatch-mutants-"));
  const git = promisify(execFile);
  const { stdout } = await git("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  for (const file of stdout.split("\0")) {
    if (file === "") continue;
    await mkdir(dirname(join(copy, file)), { recursive: true });
    // A file that was deleted is listed until that is committed.
    await cp(join(root, file), join(copy, file), { verbatimSymlinks: true }).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    });
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  // Some tests ask git which files there are.
  await git("git", ["init", "-q"], { cwd: copy });
  await git("git", ["add", "-A"], { cwd: copy });
  return { root: copy, [Symbol.asyncDispose]: () => rm(copy, { recursive: true, force: true }) };
}
