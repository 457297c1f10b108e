/**
 * Where the requests of each section of docs/providers.md go: `base_url` and the path of the
 * protocol.
 */
export const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  "OpenAI, chat completions, embeddings, moderations": [
    "https://eu.api.openai.com/v1/chat/completions",
    "https://eu.api.openai.com/v1/embeddings",
    "https://eu.api.openai.com/v1/moderations",
  ],
  "OpenAI, responses": ["https://us.api.openai.com/v1/responses"],
  "Azure OpenAI, chat completions and embeddings": [
    "https://RESOURCE.openai.azure.com/openai/v1/chat/completions",
    "https://RESOURCE.openai.azure.com/openai/v1/embeddings",
  ],
  "Azure OpenAI, deployment paths": [
    "https://RESOURCE.openai.azure.com/openai/deployments/DEPLOYMENT/chat/completions?api-version=2024-10-21",
    "https://RESOURCE.openai.azure.com/openai/deployments/EMBED_DEPLOYMENT/embeddings?api-version=2024-10-21",
  ],
  "Azure OpenAI, responses": ["https://RESOURCE.openai.azure.com/openai/v1/responses"],
  "Azure AI, Cohere models": ["https://RESOURCE.services.ai.azure.com/openai/v1/embeddings"],
  Anthropic: ["https://api.anthropic.com/v1/messages"],
  "Amazon Bedrock, Converse": [
    "https://bedrock-runtime.eu-central-1.amazonaws.com/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
  ],
  "Amazon Bedrock, Anthropic models by InvokeModel": [
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke",
  ],
  "Amazon Bedrock, OpenAI-compatible": ["https://bedrock-mantle.us-east-1.api.aws/v1/responses"],
  "Amazon Bedrock, embeddings and rerank": [
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.titan-embed-text-v2%3A0/invoke",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/cohere.embed-v4%3A0/invoke",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/cohere.rerank-v3-5%3A0/invoke",
    "https://bedrock-agent-runtime.us-east-1.amazonaws.com/rerank",
  ],
  "Google Gemini API": [
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents",
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-2:batchEmbedContents",
  ],
  "Google Vertex AI": [
    "https://europe-west4-aiplatform.googleapis.com/v1/projects/PROJECT/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent",
    "https://europe-west4-aiplatform.googleapis.com/v1/projects/PROJECT/locations/europe-west4/publishers/google/models/gemini-embedding-001:predict",
    "https://aiplatform.googleapis.com/v1/projects/PROJECT/locations/global/publishers/google/models/gemini-embedding-2:embedContent",
  ],
  "Google Vertex AI, Anthropic models": [
    "https://europe-west4-aiplatform.googleapis.com/v1/projects/PROJECT/locations/europe-west4/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict",
  ],
  Mistral: [
    "https://api.eu.mistral.ai/v1/chat/completions",
    "https://api.eu.mistral.ai/v1/embeddings",
    "https://api.eu.mistral.ai/v1/moderations",
  ],
  Cohere: [
    "https://api.cohere.com/v2/chat",
    "https://api.cohere.com/v2/embed",
    "https://api.cohere.com/v2/rerank",
  ],
  "Voyage AI": ["https://api.voyageai.com/v1/embeddings", "https://api.voyageai.com/v1/rerank"],
  "Jina AI": ["https://api.jina.ai/v1/embeddings", "https://api.jina.ai/v1/rerank"],
  Groq: ["https://api.groq.com/openai/v1/chat/completions"],
  DeepSeek: ["https://api.deepseek.com/chat/completions"],
  xAI: ["https://us.api.x.ai/v1/responses"],
  OpenRouter: [
    "https://eu.openrouter.ai/api/v1/chat/completions",
    "https://eu.openrouter.ai/api/v1/embeddings",
    "https://eu.openrouter.ai/api/v1/rerank",
  ],
  Together: [
    "https://api.together.ai/v1/chat/completions",
    "https://api.together.ai/v1/embeddings",
    "https://api.together.ai/v1/rerank",
  ],
  Fireworks: ["https://api.fireworks.ai/inference/v1/chat/completions"],
  Perplexity: [
    "https://api.perplexity.ai/chat/completions",
    "https://api.perplexity.ai/v1/embeddings",
  ],
  Cerebras: ["https://api.cerebras.ai/v1/chat/completions"],
  SambaNova: ["https://api.sambanova.ai/v1/chat/completions"],
  "Nebius Token Factory": ["https://api.tokenfactory.nebius.com/v1/chat/completions"],
  Scaleway: ["https://api.scaleway.ai/v1/chat/completions"],
  "OVHcloud AI Endpoints": ["https://oai.endpoints.kepler.ai.cloud.ovh.net/v1/chat/completions"],
  "IONOS AI Model Hub": ["https://openai.inference.de-txl.ionos.com/v1/chat/completions"],
  "Hugging Face router": ["https://router.huggingface.co/v1/chat/completions"],
  "NVIDIA NIM": ["https://integrate.api.nvidia.com/v1/chat/completions"],
  Databricks: ["https://WORKSPACE.cloud.databricks.com/serving-endpoints/chat/completions"],
  "Cloudflare Workers AI": [
    "https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1/chat/completions",
  ],
  vLLM: [
    "http://127.0.0.1:8000/v1/chat/completions",
    "http://127.0.0.1:8001/v1/embeddings",
    "http://127.0.0.1:8002/v1/rerank",
  ],
  Ollama: ["http://127.0.0.1:11434/v1/chat/completions"],
  "LM Studio": ["http://127.0.0.1:1234/v1/chat/completions"],
  "llama.cpp": ["http://127.0.0.1:8080/v1/chat/completions"],
  LiteLLM: ["http://127.0.0.1:4000/v1/chat/completions"],
};
