// Serves fixtures.json as an OpenAI-compatible provider on a free loopback port, prints its address, and ends when its
// standard input does: a test process that dies, however it dies, leaves no server behind.
import { LLMock } from "@copilotkit/aimock";

const server = new LLMock({ host: "127.0.0.1", port: 0, chunkSize: 5, logLevel: "silent" });
server.loadFixtureFile(new URL("fixtures.json", import.meta.url).pathname);
await server.start();
console.log(server.url);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
