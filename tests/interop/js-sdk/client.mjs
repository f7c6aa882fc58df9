// Holds two turns with an A2A agent through the official JavaScript SDK, starting from the URL of its card.

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { Role } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk/client";

const NAME = "js-sdk";
const TIMEOUT_MS = 30_000;
const PROMPTS = ["Checkout answers with errors since noon.", "What should we do next?"];
const USAGE =
  "usage: client.mjs --card-url URL [--function-key KEY | --bearer-token TOKEN] [--expect-protected] [--json-output]";

function boundedFetch(url, init) {
  return fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
}

function jsonRpcInterface(card) {
  const found = card.supportedInterfaces.find(
    (candidate) => candidate.protocolBinding === "JSONRPC" && candidate.protocolVersion === "1.0",
  );
  if (!found) throw new Error("the card offers no JSONRPC 1.0 interface");
  return found;
}

async function expectUnauthorized(cardUrl, rpcUrl) {
  const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: {} };
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(call) };
  const responses = { card: await boundedFetch(cardUrl), endpoint: await boundedFetch(rpcUrl, post) };
  for (const [what, response] of Object.entries(responses)) {
    if (response.status !== 401) throw new Error(`the ${what} answers ${response.status} without a credential, not 401`);
  }
}

// Sends one message and returns the context and the text of the reply.
async function say(client, text, contextId) {
  const reply = await client.sendMessage({
    message: {
      messageId: randomUUID(),
      contextId: contextId ?? "",
      role: Role.ROLE_USER,
      parts: [{ content: { $case: "text", value: text } }],
    },
  });
  if (!("messageId" in reply)) throw new Error("expected a direct message, got a task");
  const answer = reply.parts.map((part) => (part.content?.$case === "text" ? part.content.value : "")).join("");
  if (reply.role !== Role.ROLE_AGENT || answer.trim() === "") throw new Error("the reply is no text from the agent");
  if (!reply.contextId || (contextId && reply.contextId !== contextId)) {
    throw new Error(`sent in context ${contextId}, the reply is in ${reply.contextId}`);
  }
  return { contextId: reply.contextId, answer };
}

async function converse(cardUrl, credential, expectProtected) {
  const fetchImpl = credential
    ? createAuthenticatingFetchWithRetry(boundedFetch, {
        headers: async () => credential,
        shouldRetryWithHeaders: async () => undefined,
      })
    : boundedFetch;
  const card = await new DefaultAgentCardResolver({ fetchImpl }).resolve(cardUrl, "");
  const { url, protocolBinding, protocolVersion } = jsonRpcInterface(card);
  if (expectProtected) await expectUnauthorized(cardUrl, url);

  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] });
  const client = await factory.createFromAgentCard(card);
  let contextId;
  const replies = [];
  for (const prompt of PROMPTS) {
    const turn = await say(client, prompt, contextId);
    contextId = turn.contextId;
    replies.push(turn.answer);
  }
  return { client: NAME, cardUrl, interface: { url, protocolBinding, protocolVersion }, contextId, replies };
}

function options() {
  const { values } = parseArgs({
    options: {
      "card-url": { type: "string" },
      "function-key": { type: "string" },
      "bearer-token": { type: "string" },
      "expect-protected": { type: "boolean", default: false },
      "json-output": { type: "boolean", default: false },
    },
  });
  if (!values["card-url"]) throw new Error(USAGE);
  if (values["expect-protected"] && !credentialOf(values)) {
    throw new Error("--expect-protected needs --function-key or --bearer-token");
  }
  return values;
}

// The header that opens card and endpoint.
function credentialOf(values) {
  if (values["function-key"]) return { "x-functions-key": values["function-key"] };
  if (values["bearer-token"]) return { authorization: `Bearer ${values["bearer-token"]}` };
  return undefined;
}

try {
  const chosen = options();
  const outcome = await converse(chosen["card-url"], credentialOf(chosen), chosen["expect-protected"]);
  console.log(chosen["json-output"] ? JSON.stringify(outcome) : outcome.replies.join("\n"));
} catch (error) {
  console.error(`${NAME}: ${error.name}: ${error.message}`);
  process.exitCode = 1;
}
