// One page reader from npm, for bench/extract.py, over all pages in one process: Mozilla's Readability or Defuddle, both on
// jsdom. In and out are those of extract_peer.py.
//
// Usage: node extract_peer.mjs NAME PAGES MODULES
import fs from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [name, path, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { JSDOM, VirtualConsole } = require("jsdom");

const BLOCKS = new Set(("ADDRESS ARTICLE ASIDE BLOCKQUOTE BR CAPTION DD DETAILS DIV DL DT FIELDSET FIGCAPTION FIGURE FOOTER FORM H1 " +
    "H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION TABLE TBODY TD TFOOT TH THEAD TR UL").split(" "));

// The text of a reader's HTML, with a line for each block.
function textOf(html) {
    const dom = new JSDOM(html ?? "", { virtualConsole: new VirtualConsole() });
    const parts = [];
    const walk = (node) => {
        if (node.nodeType === 3) parts.push(node.data);
        if (node.nodeType !== 1 || node.tagName === "SCRIPT" || node.tagName === "STYLE") return;
        const block = BLOCKS.has(node.tagName) ? "\n" : "";
        parts.push(block);
        for (let child = node.firstChild; child; child = child.nextSibling) walk(child);
        parts.push(block);
    };
    walk(dom.window.document.body);
    dom.window.close();
    return parts.join("");
}

// As from a server that sends no charset: a browser would take UTF-8 for windows-1252 where the page does not say.
function decoded(bytes) {
    try {
        return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
        return bytes;
    }
}

const domOf = (html, url) => new JSDOM(decoded(html), { url: url || undefined, virtualConsole: new VirtualConsole() });

function readability() {
    const { Readability } = require("@mozilla/readability");
    return async (html, url) => {
        const dom = domOf(html, url);
        const found = new Readability(dom.window.document).parse() ?? {};
        dom.window.close();
        return { html: found.content, title: found.title, author: found.byline, date: found.publishedTime };
    };
}

async function defuddle() {
    const { Defuddle } = await import(pathToFileURL(`${modules}/node_modules/defuddle/dist/node.js`));
    return async (html, url) => {
        const dom = domOf(html, url);
        const found = await Defuddle(dom.window.document, url, { useAsync: false });
        dom.window.close();
        return { html: found.content, title: found.title, author: found.author, date: found.published };
    };
}

function* pages(file) {
    const take = (size) => {
        const bytes = Buffer.alloc(size);
        return fs.readSync(file, bytes, 0, size, null) === size ? bytes : null;
    };
    for (let head = take(8); head; head = take(8)) {
        const url = take(head.readUInt32LE(0)).toString();
        yield [url, take(head.readUInt32LE(4))];
    }
}

console.log = console.warn = console.error = console.info = console.debug = () => {};
const read = name === "defuddle" ? await defuddle() : readability();
const peak = () => Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync("/proc/self/status", "latin1"))[1]);
const before = peak();
for (const [url, html] of pages(fs.openSync(path))) {
    const start = process.cpuUsage();
    let found = {}, error = null;
    try {
        found = await read(html, url);
    } catch (problem) {
        error = String(problem).slice(0, 200);
    }
    const used = process.cpuUsage(start);
    try {
        found.text = textOf(found.html);
    } catch (problem) {
        error ??= String(problem).slice(0, 200);
    }
    delete found.html;
    fs.writeSync(1, JSON.stringify({ ...found, cpu_s: (used.user + used.system) / 1e6, error }) + "\n");
}
fs.writeSync(1, JSON.stringify({ before_kb: before, peak_kb: peak() }) + "\n");
