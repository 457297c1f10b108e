import type { CheckRequest, CheckResponse } from "./protocol.ts";

/** A check whose paths start at the folder that all of its modules are in. */
interface Anchored {
  readonly request: CheckRequest;
  /** Gives the response the paths of the original request; `null` where a message has a path in its text. */
  readonly restore: (response: CheckResponse) => CheckResponse | null;
}

/**
 * Takes the folder that all modules are in out of their paths. Results are cached by their input: without this, the same policies
 * in another folder (another checkout, a mounted ConfigMap) would be checked again, which takes a second.
 */
export function withoutFolder(request: CheckRequest): Anchored {
  const folder = commonFolder(request.modules.map(({ path }) => path));
  const inner = (path: string): string => path.slice(folder.length);
  const modules = request.modules.map(({ path, text }) => ({ path: inner(path), text }));
  return {
    request: { ...request, modules, units: request.units.map((unit) => unit.map(inner)) },
    restore: (response) => {
      if (folder === "") return response;
      const texts = response.errors.flatMap(({ message, details }) => [message, ...(details ?? [])]);
      if (texts.some((text) => modules.some(({ path }) => text.includes(path)))) return null;
      return {
        errors: response.errors.map((error) =>
          error.file === "" ? error : { ...error, file: `${folder}${error.file}` },
        ),
        modules: response.modules.map((facts) => ({ ...facts, path: `${folder}${facts.path}` })),
      };
    },
  };
}

/** The longest beginning of all paths that ends with a slash; empty where there is none. */
function commonFolder(paths: readonly string[]): string {
  const [first = "", ...others] = paths;
  let folder = first.slice(0, first.lastIndexOf("/") + 1);
  while (others.some((path) => !path.startsWith(folder))) {
    folder = folder.slice(0, folder.lastIndexOf("/", folder.length - 2) + 1);
  }
  return folder;
}
