import { withQuery } from "../../api/client.ts";
import { hasScope, inWorkspaces } from "../../api/session-state.ts";
import type { KeyList, ServiceKey } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { compact, dollars, whole } from "../../format/amounts.ts";
import { printable } from "../../format/printable.ts";
import { Code, Name } from "../../components/text.tsx";

export type KeyNames = ReadonlyMap<string, ServiceKey>;

/** The newest hundred keys by id, for who may see them. */
export function useKeyNames(): KeyNames {
  const keys = useResource<KeyList>(
    hasScope("operations:manage") ? withQuery("/v1/keys", { limit: 100, ...inWorkspaces() }) : null,
  );
  return new Map((keys.value?.data ?? []).map((key) => [key.id, key]));
}

/** The name of a key for people: its own, else its owner and workload. */
export const titleOf = ({ name, owner, workload }: ServiceKey): string =>
  name ?? (workload === "" ? owner : `${owner}, ${workload}`);

/** The title with the id on hover: random characters mean nothing to readers. */
export function KeyName({ of, names }: { readonly of: string | null; readonly names: KeyNames }) {
  const key = of === null ? undefined : names.get(of);
  return key === undefined ? (
    <Code of={of} />
  ) : (
    <span title={printable(`${key.id} of ${key.owner}`)}>
      <Name of={titleOf(key)} />
    </span>
  );
}

/** Those of the key, which apply beside its workspace's; `null` where it has none. */
export function limitsOf(limits: ServiceKey["limits"]): string | null {
  const {
    requests_per_minute: requests,
    tokens_per_minute: tokens,
    concurrency,
    budget,
  } = limits ?? {};
  const money =
    budget == null
      ? ""
      : "usd" in budget
        ? dollars(budget.usd)
        : `${compact(budget.tokens)} tokens`;
  const parts = [
    ...(budget == null ? [] : [`${money} a ${budget.per}`]),
    ...(requests == null ? [] : [`${whole(requests)} requests a minute`]),
    ...(tokens == null ? [] : [`${compact(tokens)} tokens a minute`]),
    ...(concurrency == null ? [] : [`${whole(concurrency)} at once`]),
  ];
  return parts.length === 0 ? null : parts.join(", ");
}
