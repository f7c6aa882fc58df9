// Runs Azurite with the given arguments until standard input ends, so that it never outlives the test that started it.
"use strict";

process.stdin.on("end", () => process.exit(0)).resume();
require("azurite/dist/src/azurite.js");
