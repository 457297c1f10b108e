import type { ProviderPreferences } from "../../canon/preferences.ts";
import type { SampleRequest } from "../sample-request.ts";
import { comparedRequest } from "./compared-request.ts";
import type { PreferenceEffect } from "./preference-effects.ts";
import { preferredSide, type SideState, type SideView } from "./side-state.ts";

/** Preferences, and what each view of a job makes of them. */
export interface ViewedPreferences extends Pick<PreferenceEffect, "preferences" | "size"> {
  /** In the order of the views. */
  readonly sides: readonly PreferredSide[];
}

/** What preferences leave on a side. */
interface PreferredSide {
  readonly state: SideState;
  /** Those that the side is evaluated with. */
  readonly preferences: ProviderPreferences | null;
}

export function viewedPreferences(effects: readonly PreferenceEffect[]): readonly ViewedPreferences[] {
  return effects.map(({ preferences, sides, size }) => ({
    preferences,
    sides: sides.map((state) => ({ state, preferences })),
    size,
  }));
}

/** With base as a third view, which is evaluated with what {@link comparedRequest} makes of the preferences. @param start of the job. */
export function withReach(
  all: readonly ViewedPreferences[],
  base: SideView,
  start: SampleRequest,
): readonly ViewedPreferences[] {
  return all.map((one) => {
    const { preferences, sides } = one;
    const [own, after] = sides;
    if (own === undefined) return one;
    const taken = (after?.state.candidates ?? []).map(({ endpoint }) => endpoint.provider);
    const compared = comparedPreferences(base, start, own, taken);
    if (compared === preferences) return { ...one, sides: [...sides, own] };
    return { ...one, sides: [...sides, { state: preferredSide(base, compared), preferences: compared }] };
  });
}

/** Those of a compared request; the same object where the request itself is compared. */
function comparedPreferences(
  { table }: SideView,
  start: SampleRequest,
  { state: { denied }, preferences }: PreferredSide,
  taken: readonly string[],
): ProviderPreferences | null {
  const isMisnamed = denied?.endsWith("/unknown_preference") === true;
  const compared = comparedRequest(table, { ...start, preferences }, isMisnamed, taken);
  return compared === null ? preferences : compared.preferences;
}
