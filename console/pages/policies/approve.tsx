import { useState } from "preact/hooks";
import { callText, isObject, member, withQuery } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { ErrorBox } from "../../components/panel.tsx";
import { Facts } from "../../components/table.tsx";
import { Code } from "../../components/text.tsx";
import { counted, whole, humanise } from "../../format/amounts.ts";
import { ChangeDialog, type ChangeProps } from "./change.tsx";

/** Facts of the report that the approver has read: `report` of an approval in the API. */
interface ReportFacts {
  readonly sha256: string;
  readonly table_revision: string;
  readonly complete: boolean;
  readonly assertions: {
    readonly passed: number;
    readonly failed: number;
    readonly waived: number;
  };
}

interface Read {
  readonly facts: ReportFacts;
  readonly access: string;
  readonly changed: number;
}

export function ApproveDialog(change: ChangeProps) {
  const [read, setRead] = useState<Read | null>(null);
  const { candidate, requirements } = change.policy;
  if (candidate === null) return null;
  const needsReport = requirements.report || requirements.assertions;
  const body = { digest: candidate.digest, ...(read !== null && { report: read.facts }) };
  return (
    <ChangeDialog
      change={change}
      title={`Approve ${candidate.revision}`}
      path="approvals"
      body={body}
      verb="Approve"
      unconditional
    >
      <p>
        You approve the content <Code of={candidate.digest} short={12} /> under your own name. It is
        recorded for good.
      </p>
      {needsReport ? (
        <p>A promotion needs an approval with the simulation report that this server makes.</p>
      ) : null}
      <ReportReader id={change.policy.id} digest={candidate.digest} read={read} onRead={setRead} />
    </ChangeDialog>
  );
}

/** Requests the server's report of exactly this promotion; can take minutes. */
function ReportReader({
  id,
  digest,
  read,
  onRead,
}: {
  readonly id: string;
  readonly digest: string;
  readonly read: Read | null;
  readonly onRead: (read: Read) => void;
}) {
  const { busy, failure, run } = useAction<string>((text) => void readReport(text).then(onRead));
  // Without TLS, except on this machine, browsers have no digests.
  if (globalThis.crypto?.subtle === undefined) {
    return (
      <p class="hint">
        This browser signs reports only over TLS. Use signalbox policy approve with a report.
      </p>
    );
  }
  const path = withQuery(`/v1/policies/${encodeURIComponent(id)}/simulation`, { digest });
  if (read !== null) {
    const { passed, failed, waived } = read.facts.assertions;
    return (
      <Facts
        rows={[
          ["Access, if promoted", humanise(read.access)],
          ["Changed", counted(read.changed, "request class", "request classes")],
          [
            "Assertions",
            `${whole(passed)} passed, ${whole(failed)} failed, ${whole(waived)} waived`,
          ],
          ["Report", <Code of={read.facts.sha256} short={12} />],
        ]}
      />
    );
  }
  return (
    <>
      <ErrorBox failure={failure} />
      <button type="button" disabled={busy} onClick={() => void run(() => callText(path, {}))}>
        {busy ? "The server simulates…" : "Attach the server’s simulation report"}
      </button>
    </>
  );
}

async function readReport(text: string): Promise<Read> {
  const report: unknown = JSON.parse(text);
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const sha256 = [...new Uint8Array(bytes)]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  const assertions = member(report, "assertions");
  const promoted = member(report, "promoted");
  return {
    facts: {
      sha256,
      table_revision: textOf(member(member(report, "head"), "table_revision")),
      complete: member(report, "complete") === true,
      assertions: {
        passed: numberOf(member(assertions, "passed")),
        failed: numberOf(member(assertions, "failed")),
        waived: numberOf(member(assertions, "waived")),
      },
    },
    access: isObject(promoted) ? textOf(promoted.access) : "unknown",
    changed: numberOf(member(promoted, "changed_classes")),
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
