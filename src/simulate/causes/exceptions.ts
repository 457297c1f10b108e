import type { ProviderPreferences } from "../../canon/preferences.ts";
import type { CauseReport } from "../report/cause-report.ts";
import type { ViewedGroup } from "./attribute.ts";
import { conditionCount } from "./plain-requests.ts";
import type { DecidingSide } from "./side-variants.ts";

/**
 * The preferences with which requests are still served whose plain form head denies and base serves: a reader who sees "refused" has to know which callers
 * it does not refuse. Each preference is decided alone, on head.
 */
export function exceptionsOf(groups: readonly ViewedGroup[], head: DecidingSide): CauseReport["exceptions"] {
  return groups.flatMap(({ group, view }) => {
    const { id, example, base } = group;
    if (group.head.denial === null || base.denial !== null || conditionCount(example) > 0) return [];
    const providers = [...new Set(base.plan.map(({ provider }) => provider))];
    const single: readonly ProviderPreferences[] = [
      { zdr: true },
      { allow_fallbacks: false },
      // With one provider, its name leaves what is there already.
      ...(providers.length < 2 ? [] : providers.map((name) => ({ only: [name] }))),
    ];
    const preferences = single.filter((each) => head.serves({ ...example, preferences: each }, view));
    return preferences.length === 0 ? [] : [{ group: id, preferences }];
  });
}
