import type { Decision } from "../../api/types.ts";
import { hasScope } from "../../api/session-state.ts";
import { Facts } from "../../components/table.tsx";
import { Code, Name } from "../../components/text.tsx";
import { dollars, humanise, whole } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";

/**
 * The limit that refused the request: its use then, and the request on top. `used` includes
 * `reserved` (the contract): they are never added.
 */
export function LimitFacts({
  decision,
  limit,
}: {
  readonly decision: Decision;
  readonly limit: NonNullable<Decision["limit"]>;
}) {
  const { subject, measure, per, size, used, reserved, requested, renews_at } = limit;
  const amount = (value: number): string =>
    measure === "usd"
      ? dollars(value)
      : measure === "concurrency"
        ? `${whole(value)} at once`
        : `${whole(value)} ${humanise(measure)}`;
  const total = (used ?? 0) + requested;
  const sum =
    used === null
      ? `At most ${amount(requested)} by this request alone`
      : `${amount(used)} used + at most ${amount(requested)} by this request = ${amount(total)}`;
  const text = `${sum}: ${
    total > size
      ? `${amount(total - size)} over the limit of ${amount(size)}`
      : `within the limit of ${amount(size)}`
  }`;
  return (
    <>
      <p>
        <LimitBar
          size={size}
          settled={(used ?? 0) - (reserved ?? 0)}
          reserved={reserved ?? 0}
          total={total}
          label={text}
        />
        <small>{text}</small>
      </p>
      <Facts
        rows={[
          ["Limit of", <Subject subject={subject} decision={decision} />],
          ["Size", `${amount(size)}${per === null ? "" : ` a ${humanise(per)}`}`],
          ["Used", used === null ? null : amount(used)],
          [
            "Of which reserved by running requests",
            reserved === null || used === null ? null : amount(reserved),
          ],
          ["Left", used === null ? null : amount(Math.max(0, size - used))],
          ["This request, at most", amount(requested)],
          ["Renews", renews_at === null ? null : <Time at={renews_at} />],
        ]}
      />
    </>
  );
}

/** With the way to where the limit is shown. */
function Subject({
  subject,
  decision: { key, workspace },
}: {
  readonly subject: string;
  readonly decision: Decision;
}) {
  if (subject === "workspace") {
    const text = (
      <>
        the workspace <Name of={workspace} />
      </>
    );
    return hasScope("spend:read") ? <a href={link(["spend"], { workspace })}>{text}</a> : text;
  }
  const text = (
    <>
      the key <Code of={key} />
    </>
  );
  return key !== null && hasScope("operations:manage") ? (
    <a href={link(["keys"], { search: key })}>{text}</a>
  ) : (
    text
  );
}

/** Settled use, reservations and the request; the part over the limit in red behind its mark. */
function LimitBar(props: {
  readonly size: number;
  readonly settled: number;
  readonly reserved: number;
  readonly total: number;
  readonly label: string;
}) {
  const { size, settled, reserved, total, label } = props;
  const used = settled + reserved;
  const at = (amount: number): number => (100 * amount) / Math.max(size, total, Number.MIN_VALUE);
  const parts = [
    ["a", 0, settled],
    ["rest", settled, used],
    ["widen", used, Math.min(total, size)],
    ["stop", Math.max(used, size), total],
  ] as const;
  return (
    <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={label}>
      {parts.map(([tone, from, to]) => (
        <rect key={tone} class={tone} x={at(from)} width={at(Math.max(0, to - from))} height={10} />
      ))}
      <line x1={at(size)} x2={at(size)} y2={10} />
    </svg>
  );
}
