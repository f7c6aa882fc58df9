"""Holds two turns with an A2A agent through Microsoft Agent Framework, starting from the URL of its card."""

import argparse
import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver
from a2a.types import AgentCard, AgentInterface
from agent_framework import AgentSession
from agent_framework_a2a import A2AAgent

NAME = "agent-framework"
TIMEOUT_SECONDS = 30.0
PROMPTS = ["Checkout answers with errors since noon.", "What should we do next?"]


class Surprise(Exception):
    """The agent did something that this client does not expect of an A2A 1.0 agent."""


def jsonrpc_interface(card: AgentCard) -> AgentInterface:
    for interface in card.supported_interfaces:
        if (interface.protocol_binding, interface.protocol_version) == ("JSONRPC", "1.0"):
            return interface
    raise Surprise("the card offers no JSONRPC 1.0 interface")


async def expect_unauthorized(card_url: str, rpc_url: str) -> None:
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as http:
        card = await http.get(card_url)
        rpc = await http.post(rpc_url, json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}})
    for what, response in (("card", card), ("endpoint", rpc)):
        if response.status_code != 401:
            raise Surprise(f"the {what} answers {response.status_code} without a credential, not 401")


def context_of(session: AgentSession) -> str | None:
    state = session.service_session_id
    return state if state is None or isinstance(state, str) else state["context_id"]


async def say(agent: A2AAgent, text: str, session: AgentSession) -> str:
    """Sends one message in the session and returns the text of the reply."""
    context_before = context_of(session)
    reply = await agent.run(text, session=session)
    if not reply.text.strip():
        raise Surprise("the reply holds no text")
    context_id = context_of(session)
    if not context_id or (context_before and context_id != context_before):
        raise Surprise(f"sent in context {context_before!r}, the reply is in {context_id!r}")
    return reply.text


async def converse(card_url: str, key: str | None, token: str | None, expect_protected: bool) -> dict:
    headers = {"x-functions-key": key} if key else {"authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, headers=headers) as http:
        card = await A2ACardResolver(http, card_url).get_agent_card(relative_card_path="/")
        interface = jsonrpc_interface(card)
        if expect_protected:
            await expect_unauthorized(card_url, interface.url)
        async with A2AAgent(agent_card=card, http_client=http) as agent:
            session = agent.create_session()
            replies = [await say(agent, prompt, session) for prompt in PROMPTS]
    return {
        "client": NAME,
        "cardUrl": card_url,
        "interface": {
            "url": interface.url,
            "protocolBinding": interface.protocol_binding,
            "protocolVersion": interface.protocol_version,
        },
        "contextId": context_of(session),
        "replies": replies,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--card-url", required=True, help="full URL of the agent card")
    parser.add_argument("--function-key", help="key sent as x-functions-key with every request")
    parser.add_argument("--bearer-token", help="access token, in place of a key")
    parser.add_argument("--expect-protected", action="store_true", help="also demand 401 from both without a credential")
    parser.add_argument("--json-output", action="store_true", help="print one JSON line")
    options = parser.parse_args()
    if options.expect_protected and not (options.function_key or options.bearer_token):
        parser.error("--expect-protected needs --function-key or --bearer-token")
    try:
        conversation = converse(options.card_url, options.function_key, options.bearer_token, options.expect_protected)
        outcome = asyncio.run(conversation)
    except Exception as error:  # Whatever goes wrong ends in one line that names the client.
        print(f"{NAME}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(outcome) if options.json_output else "\n".join(outcome["replies"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
