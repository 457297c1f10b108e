import type { Mark } from "./blocks.ts";
import type { Varies } from "./compare-output.ts";

/** What a page takes for granted. */
export interface PageSetup {
  /**
   * A demo serves before the first block; `SIGNALBOX_KEY` is its key, `MANAGER` one with
   * operations:manage.
   */
  readonly served?: true;
  /** Shell, before the first block. */
  readonly setup?: string;
  /** Shell, before the block with that first line. */
  readonly before?: Readonly<Record<string, string>>;
  /** The same after it: what a reader would wait for. */
  readonly after?: Readonly<Record<string, string>>;
  /** The test file that runs the page's console blocks. */
  readonly console?: string;
  /** Marks of blocks by their first lines, for pages that shall have no comments. */
  readonly marks?: Readonly<Record<string, Mark>>;
  /** What is written otherwise here: text of the page, and of the folder. */
  readonly replace?: Readonly<Record<string, string>>;
  /** The URL of a PostgreSQL, instead of those in quotes on the page. */
  readonly database?: string;
  /** What differs in outputs. */
  readonly varies?: Varies;
}

/** Requests a chat. */
const chat = (route: string, key = "SIGNALBOX_KEY"): string =>
  `curl -s http://127.0.0.1:$PORT/v1/chat/completions -H "Authorization: Bearer $${key}" \
  -H 'Content-Type: application/json' -d '{"model": "${route}", "messages": [{"role": "user", "content": "Hello"}]}'\n`;

/**
 * Waits until a command succeeds: records are written behind the answers, and files are read when
 * they have changed.
 */
const until = (command: string): string =>
  `for _ in $(seq 200); do if ${command}; then break; fi; sleep 0.1; done; ${command}\n`;

/** Changes the text of a shipped policy, and waits until the server has them. */
const changePolicy = (from: string, to: string): string =>
  `reloads=$(grep -c reloaded "$DOCS_STATE/serve.log" || true)
sed -i 's/${from}/${to}/' policies/eu-residency.rego
${until('[ "$(grep -c reloaded "$DOCS_STATE/serve.log" || true)" -gt "$reloads" ]')}`;

const TAMPER = `const { DatabaseSync } = require("node:sqlite");
const database = new DatabaseSync(".signalbox/signalbox.db", { timeout: 5000 });
for (const { name } of database.prepare("SELECT name FROM sqlite_schema WHERE type = \\'trigger\\'").all()) database.exec("DROP TRIGGER " + name);
const row = database.prepare("SELECT last, records FROM evidence_batches WHERE last >= 2 ORDER BY last LIMIT 1").get();
const bytes = Buffer.from(row.records);
const time = bytes.indexOf("\\"at\\":", bytes.indexOf("{\\"position\\":2,")) + 5;
bytes[time] ^= 1;
database.prepare("UPDATE evidence_batches SET records = ? WHERE last = ?").run(bytes, row.last);`;

const FALLBACK =
  '$ curl -sD - http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $SIGNALBOX_KEY" \\';

/** By path from the root. A page without a row is run in a folder where nothing serves. */
export const SETUPS: Readonly<Record<string, PageSetup>> = {
  "README.md": {
    marks: {
      "$ npm run -s signalbox -- simulate --base main --head us-fallback": {
        kind: "executed by",
        file: "test/docs/simulate.long.test.ts",
      },
    },
  },
  "docs/calling.md": { served: true },
  "docs/coding-agents.md": { served: true },
  "docs/deployment.md": {
    setup: "mkdir etc var && cp -r routes.yaml policies etc\n",
    replace: { "/etc/signalbox/": "etc/", "/var/lib/signalbox/": "var/", "0.0.0.0": "127.0.0.1" },
  },
  "docs/evidence.md": {
    served: true,
    setup: `${chat("chat-large")}${until("signalbox evidence tail --limit 1 | grep -q completed")}${chat("chat-large", "MANAGER")}${until("signalbox evidence tail --limit 1 | grep -q insufficient_scope")}`,
    before: {
      "$ signalbox evidence verify": `"$DOCS_NODE" -e '${TAMPER.replaceAll("'", `'"'"'`)}'\n`,
    },
  },
  "docs/explain.md": { served: true, console: "test/docs/explain.test.ts" },
  "docs/first-configuration.md": {
    // The server has read the overlay that the page has changed.
    before: {
      [FALLBACK]: until('grep -q reloaded "$DOCS_STATE/serve.log"'),
    },
  },
  "docs/governance.md": {
    served: true,
    setup: [
      ...Array<string>(6).fill("chat-large"),
      ...Array<string>(3).fill("chat-small-eu"),
      "absent",
    ]
      .map((route) => chat(route))
      .join(""),
    // What has not ended yet would count as running.
    before: {
      "$ signalbox summary --workspace demo --group-by route": until(
        "signalbox evidence tail --limit 1 | grep -q ' 200 '",
      ),
    },
    // Latencies.
    varies: [[/(\d+ of \d+ +\d+) +\d+ +\d+ +(\d+\+\d+)/g, "$1 $2"]],
  },
  "docs/keys.md": { served: true },
  "docs/limits.md": {
    served: true,
    setup: `KEY=$(signalbox keys create --workspace acme-dev --scopes inference --owner a --expires 1d --requests-per-minute 30 --quiet)
${until(chat("chat-small", "KEY").trimEnd())}`,
    // A key stands in the list with what it has used in the present minute: requested again, in a
    // minute that does not end at once.
    before: {
      "$ signalbox limits --workspace acme-dev": `if [ "$(date +%-S)" -gt 52 ]; then sleep $((61 - $(date +%-S))); fi
${chat("chat-small", "KEY")}`,
    },
    varies: [[/ [\d.]+ of (\d+) +\d+ % +/g, " N of $1 "]],
  },
  "docs/observability.md": { served: true },
  "docs/policy-reference.md": {
    // Something for a test to find.
    before: {
      "$ signalbox policy test --run 'data-retention|eu-residency'": `cp policies/eu-residency*.rego .signalbox/
sed -i 's/candidate.region in data.regions.eu/candidate.region == "us-east"; data.regions.eu/' policies/eu-residency.rego
sed -i '16a passing := eu_residency.pass.processed_in_eu with input as labelled with data.regions as regions; print(passing)' policies/eu-residency_test.rego
`,
      "$ signalbox policy test --coverage": "cp .signalbox/eu-residency*.rego policies/\n",
    },
  },
  "docs/policy-lifecycle.md": {
    served: true,
    console: "test/docs/policy-lifecycle.long.test.ts",
    before: {
      // The folder's routes.yaml has no workspace `platform`: a database that is named is not
      // compared with it.
      "signalbox keys create --workspace platform --scopes operations:manage --owner user:anna --expires 90d --labels privacy":
        "export SIGNALBOX_DATABASE=.signalbox/signalbox.db",
      "signalbox policy rollback eu-residency --reason wrong_denials   # to what was enforced before": `export SIGNALBOX_KEY=$MANAGER
signalbox policy promote tool-approval
${changePolicy("REGION_NOT_IN_EU, EU", "REGION_NOT_IN_EU, A_CODE, EU")}signalbox policy promote eu-residency
${changePolicy("A_CODE", "ANOTHER_CODE")}signalbox policy promote eu-residency
`,
    },
  },
  "docs/quick-start.md": {
    after: {
      "sed -i.bak 's/tier: standard/tier: regulated/' routes.yaml": until(
        'grep -q reloaded "$DOCS_STATE/serve.log"',
      ),
    },
    before: {
      "$ npm run -s signalbox -- evidence tail --limit 2": until(
        "signalbox evidence tail --limit 1 | grep -q 'chat-small-eu.*completed'",
      ),
    },
  },
  "docs/simulate.md": { console: "test/docs/simulate.long.test.ts" },
};
