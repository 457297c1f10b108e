import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GIT_ENVIRONMENT } from "../../cli/simulate/repository.ts";
import { ROOT } from "./blocks.ts";
import { freePort } from "../../support/ports.ts";
import { COMPILED } from "../../support/node-cache.ts";

/** What stands in a checkout and pages may change. */
const COPIED = [
  "routes.yaml",
  "schemas",
  "policies",
  "policy-library",
  "docs/examples",
  "package.json",
];

/**
 * Folders of a reader's own: a checkout after `npm ci`, with stand-ins for programs that a page
 * calls.
 */
export interface Sandbox {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The ports that pages write, and those that are taken here. */
  readonly ports: ReadonlyMap<string, string>;
  /** Ends the servers that the page has started, and deletes its folders. */
  close(): void;
}

const SIGNALBOX = `#!/bin/bash
case "$1:$*" in
  *--help*) ;;
  serve:*|mock:*) exec serve-beside "$@" ;;
esac
exec "$DOCS_NODE" "$DOCS_MAIN" "$@"
`;

/**
 * A page serves in one terminal and calls in another: here the command comes back when it listens.
 */
const SERVE_BESIDE = `#!/bin/bash
pids="$DOCS_STATE/$1.pid" log="$DOCS_STATE/$1.log"
if [ -f "$pids" ]; then
  kill "$(cat "$pids")" 2>/dev/null
  for _ in $(seq 200); do kill -0 "$(cat "$pids")" 2>/dev/null || break; sleep 0.05; done
fi
drain=() said="listening on"
if [ "$1" = serve ]; then drain=(--drain 1); fi
case "$*" in *--demo*) said="    -H 'Content-Type" ;; esac
"$DOCS_NODE" "$DOCS_MAIN" "$@" "\${drain[@]}" > "$log" 2>&1 &
echo $! > "$pids"
for _ in $(seq 1200); do
  if grep -q -- "$said" "$log"; then cat "$log"; exit 0; fi
  kill -0 "$(cat "$pids")" 2>/dev/null || { cat "$log"; exit 1; }
  sleep 0.05
done
cat "$log"; exit 1
`;

const NPM = `#!/bin/bash
case "$1" in
  ci|test) grep -q "^npm $1" "$DOCS_ROOT/.ci/run" || { echo ".ci/run does not run npm $1" >&2; exit 1; } ;;
  start) shift; exec signalbox serve --demo "$@" ;;
  run)
    shift; [ "$1" = -s ] && shift
    [ "$1" = signalbox ] || { echo "there is no stand-in for npm run $1" >&2; exit 1; }
    shift; [ "$1" = -- ] && shift
    exec signalbox "$@" ;;
  *) echo "there is no stand-in for npm $1" >&2; exit 1 ;;
esac
`;

const NPX = `#!/bin/bash
[ "$1" = signalbox ] || { echo "there is no stand-in for npx $1" >&2; exit 1; }
exec "$@"
`;

/** An answer that is an error fails a block, except where its output is on the page. */
const CURL = `#!/bin/bash
PATH=\${PATH#*:}
[ -z "$DOCS_FAIL" ] || set -- --fail-with-body "$@"
exec curl --max-time 60 "$@"
`;

/** The newest key that a server has printed. */
const PRINTED_KEY = `#!/bin/bash
grep -oh "sbx_$1_[0-9A-Za-z_]*" "$DOCS_STATE/serve.log" "$DOCS_STATE/first.log" "$HOME/.signalbox/first-key" 2>/dev/null | tail -1
`;

/**
 * Makes the folder of one page. @throws {Error} where `npm start` is not what the stand-in does.
 */
export async function makeSandbox(): Promise<Sandbox> {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  );
  if (
    scripts.start !== "node src/main.ts serve --demo" ||
    scripts.signalbox !== "node src/main.ts"
  ) {
    throw new Error(
      "package.json: the stand-ins of test/docs/commands/sandbox.ts do something else",
    );
  }
  const above = realpathSync(mkdtempSync(join(tmpdir(), "signalbox-page-")));
  const [folder, bin, state] = [join(above, "signalbox"), join(above, "bin"), join(above, "state")];
  for (const path of [folder, bin, state, join(folder, ".signalbox")]) mkdirSync(path);
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  const programs = {
    signalbox: SIGNALBOX,
    "serve-beside": SERVE_BESIDE,
    npm: NPM,
    npx: NPX,
    curl: CURL,
    "printed-key": PRINTED_KEY,
  };
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(bin, name), script, { mode: 0o755 });
  const port = await freePort(2);
  const ports = new Map([
    ["8080", `${port}`],
    ["8081", `${port + 1}`],
    ["8089", `${await freePort()}`],
  ]);
  const environment = {
    ...GIT_ENVIRONMENT,
    LC_ALL: "C.UTF-8",
    HOME: folder,
    PATH: `${bin}:${GIT_ENVIRONMENT.PATH ?? ""}`,
    PORT: `${port}`,
    SIGNALBOX_SERVER: `http://127.0.0.1:${port}`,
    ...COMPILED,
    DOCS_ROOT: ROOT,
    DOCS_NODE: process.execPath,
    DOCS_MAIN: join(ROOT, "src/main.ts"),
    DOCS_STATE: state,
  };
  const close = (): void => {
    for (const name of ["serve", "mock"]) endProcess(join(state, `${name}.pid`));
    rmSync(above, { recursive: true, force: true });
  };
  return { folder, environment, ports, close };
}

function endProcess(file: string): void {
  try {
    process.kill(Number(readFileSync(file, "utf8")), "SIGKILL");
  } catch {
    // It was never started, or has ended.
  }
}
