// edge.mjs KIND RULES BUCKET PORT: what a CDN does around the program of an edge, without a cache.
import { readFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import vm from "node:vm";

const [kind, rules, bucket, port] = process.argv.slice(2);

/** Asks the bucket without unpacking what it answers. */
function ask(path, method, headers) {
    return new Promise((resolve, reject) => {
        http.request(bucket + path, { method, headers }, answer => {
            const parts = [];
            answer.on("data", part => parts.push(part));
            answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
        }).on("error", reject).end();
    });
}

const kept = ["content-type", "content-encoding", "cache-control", "etag", "last-modified", "content-range", "accept-ranges"];

async function cloudFront() {
    const scope = vm.createContext({});
    vm.runInContext(readFileSync(`${rules}/cloudfront-request.js`, "utf8"), scope);
    const module = { exports: {} };
    vm.runInNewContext(readFileSync(`${rules}/cloudfront-response.js`, "utf8"), module);
    return async (request, response) => {
        const [uri, text = ""] = request.url.split("?");
        const querystring = {};
        for (const pair of text.split("&").filter(Boolean)) {
            const [name, value = ""] = pair.split("=");
            querystring[name] = { value };
        }
        const headers = {};
        for (const [name, value] of Object.entries(request.headers)) headers[name] = { value };
        const result = scope.handler({ request: { method: request.method, uri, querystring, headers, cookies: {} } });
        if (result.statusCode) {
            const found = Object.entries(result.headers ?? {}).map(([name, { value }]) => [name, value]);
            response.writeHead(result.statusCode, Object.fromEntries(found)).end();
            return;
        }
        const key = Object.entries(result.querystring).map(([name, { value }]) => `${name}=${value}`).join("&");
        const passed = {};
        for (const name of ["range", "if-none-match"]) if (request.headers[name]) passed[name] = request.headers[name];
        const found = await ask(result.uri + (key ? `?${key}` : ""), request.method, passed);
        const answer = { status: String(found.status), statusDescription: "", headers: {} };
        for (const name of kept) if (found.headers[name]) answer.headers[name] = [{ key: name, value: found.headers[name] }];
        const event = { Records: [{ cf: { request: { uri: result.uri }, response: answer } }] };
        const final = await module.exports.handler(event);
        const list = Object.values(final.headers).map(([{ key, value }]) => [key, value]);
        response.writeHead(Number(final.status), Object.fromEntries(list)).end(final.body ?? found.body);
    };
}

async function cloudflare() {
    const source = readFileSync(`${rules}/cloudflare.js`, "utf8");
    const worker = (await import(`data:text/javascript,${encodeURIComponent(source)}`)).default;
    return async (request, response) => {
        const headers = new Headers();
        for (const [name, value] of Object.entries(request.headers)) headers.set(name, value);
        const url = `http://${request.headers.host}${request.url}`;
        const answer = await worker.fetch(new Request(url, { method: request.method, headers }));
        const list = Object.fromEntries(answer.headers);
        // fetch() has unpacked the body, as Cloudflare does for a reader that takes no gzip.
        delete list["content-encoding"];
        delete list["content-length"];
        response.writeHead(answer.status, list).end(Buffer.from(await answer.arrayBuffer()));
    };
}

const handle = await (kind === "cloudfront" ? cloudFront() : cloudflare());
http.createServer((request, response) => {
    handle(request, response).catch(error => response.writeHead(500).end(String(error.stack)));
}).listen(Number(port), "127.0.0.1");
