// The configuration of each MCP client for a workspace of this server, ready to copy.

/**
 * @param {string} url the MCP address of the workspace
 * @param {string} key
 * @returns {{ name: string, place: string, text: string }[]}
 */
export function clientConfigs(url, key) {
  const headers = { Authorization: `Bearer ${key}` };
  const json = (/** @type {unknown} */ value) => JSON.stringify(value, null, 2);
  return [
    { name: "Claude Code", place: "One command in the project's folder", text: `claude mcp add --transport http toolyard ${url} --header "Authorization: Bearer ${key}"` },
    { name: "Codex", place: "~/.codex/config.toml, and the key in the variable TOOLYARD_KEY", text: `[mcp_servers.toolyard]\nurl = ${JSON.stringify(url)}\nbearer_token_env_var = "TOOLYARD_KEY"\n\n# export TOOLYARD_KEY=${key}` },
    { name: "Cursor", place: ".cursor/mcp.json in the project, or ~/.cursor/mcp.json", text: json({ mcpServers: { toolyard: { url, headers } } }) },
    { name: "VS Code", place: ".vscode/mcp.json in the project", text: json({ servers: { toolyard: { type: "http", url, headers } } }) },
    { name: "Zed", place: "~/.config/zed/settings.json", text: json({ context_servers: { toolyard: { url, headers } } }) },
    { name: "Gemini CLI", place: "~/.gemini/settings.json", text: json({ mcpServers: { toolyard: { httpUrl: url, headers } } }) },
    { name: "opencode", place: "opencode.json in the project", text: json({ mcp: { toolyard: { type: "remote", url, headers, oauth: false, enabled: true } } }) },
    { name: "goose", place: "~/.config/goose/config.yaml", text: `extensions:\n  toolyard:\n    enabled: true\n    name: toolyard\n    description: Files with a history\n    type: streamable_http\n    uri: ${JSON.stringify(url)}\n    headers: ${JSON.stringify(headers)}\n    timeout: 300` },
    { name: "curl", place: "The HTTP API, for your own program", text: `curl ${url.replace(/\/mcp\/([^?]+).*$/, "/api/v1/workspaces/$1/tools")} \\\n  -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\\n  -d '{"tool": "ls", "args": {"path": "/"}}'` },
  ];
}
