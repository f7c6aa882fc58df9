//! Serve markdown-authored agents over the Agent2Agent (A2A) protocol.
