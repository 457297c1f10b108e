import { PLAIN_SAMPLE, type SampleRequest } from "../sample-request.ts";
import { perScalar } from "../request-scalars.ts";

/** How many conditions a request has beyond what every caller sends: preferences, needs, labels, sizes. 0: a plain request. */
export function conditionCount(sample: SampleRequest): number {
  const { preferences, needs, features, signatureFamilies, key } = sample;
  const sizes = perScalar((member) => (sample[member] === PLAIN_SAMPLE[member] ? 0 : 1));
  return (
    Object.values(preferences ?? {}).filter((value) => value !== undefined).length +
    needs.length +
    features.length +
    signatureFamilies.length +
    key.labels.length +
    sizes.reduce<number>((sum, each) => sum + each, 0)
  );
}
