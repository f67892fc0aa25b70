// A TypeScript client of the tools, with the methods of the spec's example, and that example's calls in
// their order. Run by node.rs: `node client.js BASE_URL TOKEN WORKSPACE_ID` prints what came back.

declare const process: { argv: string[] };

interface Answer {
  success: boolean;
  result: unknown;
  error: string | null;
}

class ToolsClient {
  private readonly baseUrl: string;
  private readonly accessToken: string;

  constructor(baseUrl: string, accessToken: string) {
    this.baseUrl = baseUrl;
    this.accessToken = accessToken;
  }

  /** Calls any tool; what the server refuses is thrown in the server's words. */
  async executeTool(
    workspaceId: string,
    tool: string,
    args: Record<string, unknown>,
  ): Promise<Answer> {
    const url = `${this.baseUrl}/api/v1/workspaces/${workspaceId}/tools`;
    const headers = {
      Authorization: `Bearer ${this.accessToken}`,
      'Content-Type': 'application/json',
    };
    const body = JSON.stringify({ tool, args });
    const response = await fetch(url, { method: 'POST', headers, body });
    const answer = (await response.json()) as Answer;
    if (!response.ok) {
      throw new Error(answer.error ?? `the tool failed with status ${response.status}`);
    }
    return answer;
  }

  ls(workspaceId: string, path: string, recursive = false): Promise<Answer> {
    return this.executeTool(workspaceId, 'ls', { path, recursive });
  }

  read(workspaceId: string, path: string): Promise<Answer> {
    return this.executeTool(workspaceId, 'read', { path });
  }

  write(workspaceId: string, path: string, content: unknown): Promise<Answer> {
    return this.executeTool(workspaceId, 'write', { path, content });
  }

  rm(workspaceId: string, path: string): Promise<Answer> {
    return this.executeTool(workspaceId, 'rm', { path });
  }

  mv(workspaceId: string, source: string, destination: string): Promise<Answer> {
    return this.executeTool(workspaceId, 'mv', { source, destination });
  }

  touch(workspaceId: string, path: string): Promise<Answer> {
    return this.executeTool(workspaceId, 'touch', { path });
  }
}

/** The words of a call that has to fail. */
async function refusal(call: Promise<Answer>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('a call succeeded that had to fail');
}

async function main(): Promise<void> {
  const [baseUrl, accessToken, workspaceId] = process.argv.slice(2);
  const client = new ToolsClient(baseUrl, accessToken);
  const stranger = new ToolsClient(baseUrl, 'not a token');
  const told = {
    ls: await client.ls(workspaceId, '/documents'),
    read: await client.read(workspaceId, '/notes/thoughts.md'),
    write: await client.write(workspaceId, '/notes/new-file.md', 'Hello from Tools API!'),
    rm: await client.rm(workspaceId, '/notes/old-file.md'),
    mv: await client.mv(workspaceId, '/notes/thoughts.md', '/docs/thoughts.md'),
    touch: await client.touch(workspaceId, '/notes/placeholder.txt'),
    missing: await refusal(client.read(workspaceId, '/notes/thoughts.md')),
    exists: await refusal(client.write(workspaceId, '/notes/new-file.md', 'again')),
    unknown: await refusal(client.executeTool(workspaceId, 'invalid_tool', {})),
    stranger: await refusal(stranger.ls(workspaceId, '/')),
  };
  console.log(JSON.stringify(told));
}

void main();
