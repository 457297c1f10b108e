import { objectAt, objectsAt, textAt } from "../../members.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import type { Call } from "../../simulate.ts";
import { unaryProtocol, type Rendered } from "../protocol.ts";
import { tokensOf } from "../results.ts";
import { embed, type EmbedBatch } from "./embed.ts";
import { GOOGLE } from "./gemini.ts";
import { dimensionsAt, textInputs } from "./input.ts";

/** Vertex AI's predict, for text embeddings. */
export const vertexEmbed: Protocol = unaryProtocol({
  ...GOOGLE,
  list: "instances",
  most: 250,
  read,
  render,
});

function read({ body }: Call): EmbedBatch | Problem {
  const instances = objectsAt(body, "instances");
  if (instances.length === 0) return invalid("instances", "required field is not set");
  const texts = instances.map((instance) => textAt(instance, "content"));
  return {
    ...textInputs(texts),
    dimensions: dimensionsAt(objectAt(body, "parameters"), "outputDimensionality"),
  };
}

function render(batch: EmbedBatch, { behaviour }: Call): Rendered | Problem {
  const vectors = embed(batch, behaviour);
  if ("status" in vectors) return vectors;
  const predictions = vectors.map(({ item: values }, position) => {
    const statistics = {
      token_count: tokensOf(batch.texts.slice(position, position + 1)),
      truncated: false,
    };
    return { embeddings: behaviour.noUsage ? { values } : { statistics, values } };
  });
  const characters = batch.texts.join("").replaceAll(/\s/g, "").length;
  return {
    body: behaviour.noUsage
      ? { predictions }
      : { predictions, metadata: { billableCharacterCount: characters } },
  };
}
