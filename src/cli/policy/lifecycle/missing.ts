import { REQUIREMENTS } from "../../../canon/promotion.ts";
import type { Missing, PolicyView } from "./view.ts";

export function missingTexts(missing: readonly Missing[]): string {
  return missing.map(({ message, requirement }) => message || requirement).join("; ");
}

/** One requirement and whether it is met: `null` where the answer does not have it. */
interface RequirementLine {
  readonly text: string;
  readonly met: boolean | null;
}

/** The requirements of the policy's promotion: the server's sentence for each that is not met, the others by their keys. */
export function requirementLines({ requirements, missing }: PolicyView): readonly RequirementLine[] {
  const others = REQUIREMENTS.flatMap(({ name, shown }): readonly RequirementLine[] => {
    const value = requirements[shown];
    const isRequired = typeof value === "object" ? value.length > 0 : value !== 0 && value !== false;
    if (!isRequired || missing?.some(({ requirement }) => requirement === name) === true) return [];
    return [{ text: value === true ? shown : `${shown}: ${String(value)}`, met: missing === null ? null : true }];
  });
  return [...(missing ?? []).map((one) => ({ text: missingTexts([one]), met: false })), ...others];
}
