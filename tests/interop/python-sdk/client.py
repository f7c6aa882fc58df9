"""Holds two turns with an A2A agent through the official Python SDK, starting from the URL of its card."""

import argparse
import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.auth.credentials import CredentialService
from a2a.client.auth.interceptor import AuthInterceptor
from a2a.helpers import get_message_text, new_text_message
from a2a.types import AgentCard, AgentInterface, Role, SendMessageRequest

NAME = "python-sdk"
TIMEOUT_SECONDS = 30.0
PROMPTS = ["Checkout answers with errors since noon.", "What should we do next?"]


class Surprise(Exception):
    """The agent did something that this client does not expect of an A2A 1.0 agent."""


class Credential(CredentialService):
    """Hands the key or token to the SDK, which sends it where the card's security scheme says."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    async def get_credentials(self, security_scheme_name, context) -> str:
        return self._secret


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


async def say(client: Client, text: str, context_id: str | None) -> tuple[str, str]:
    """Sends one message and returns the context and the text of the reply."""
    message = new_text_message(text, context_id=context_id, role=Role.ROLE_USER)
    replies = [event async for event in client.send_message(SendMessageRequest(message=message))]
    if len(replies) != 1 or not replies[0].HasField("message"):
        raise Surprise(f"expected one direct message, got {[event.WhichOneof('payload') for event in replies]}")
    reply = replies[0].message
    answer = get_message_text(reply)
    if reply.role != Role.ROLE_AGENT or not answer.strip():
        raise Surprise("the reply is no text from the agent")
    if not reply.context_id or (context_id and reply.context_id != context_id):
        raise Surprise(f"sent in context {context_id!r}, the reply is in {reply.context_id!r}")
    return reply.context_id, answer


async def converse(card_url: str, key: str | None, token: str | None, expect_protected: bool) -> dict:
    headers = {"x-functions-key": key} if key else {"authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, headers=headers) as http:
        card = await A2ACardResolver(http, card_url).get_agent_card(relative_card_path="/")
    interface = jsonrpc_interface(card)
    if expect_protected:
        await expect_unauthorized(card_url, interface.url)

    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as http:
        config = ClientConfig(httpx_client=http, streaming=False, supported_protocol_bindings=["JSONRPC"])
        secret = key or token
        interceptors = [AuthInterceptor(Credential(secret))] if secret else []
        client = ClientFactory(config).create(card, interceptors)
        context_id, replies = None, []
        for prompt in PROMPTS:
            context_id, reply = await say(client, prompt, context_id)
            replies.append(reply)
    return {
        "client": NAME,
        "cardUrl": card_url,
        "interface": {
            "url": interface.url,
            "protocolBinding": interface.protocol_binding,
            "protocolVersion": interface.protocol_version,
        },
        "contextId": context_id,
        "replies": replies,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--card-url", required=True, help="full URL of the agent card")
    parser.add_argument("--function-key", help="key for the card and for the security scheme that the card names")
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
