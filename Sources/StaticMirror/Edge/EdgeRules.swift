import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotOrigin

/// The rules by which an edge in front of a bucket answers like a mirror, written for several kinds of edges.
///
/// A bucket ignores queries. The edge maps `_expected` to the objects that an upload has named by that state, so that a
/// client reads what the list of collections announced. It maps `_since` to the delta from that state. If there is no
/// such object, it redirects to the whole collection. The patterns and names here are the only description; each kind
/// of edge has its own language for it.
package struct EdgeRules: Sendable {
    /// The address at which clients reach the edge.
    let address: OriginAddress
    /// The address at which the edge reads the bucket's objects: the URL before every key, without a slash at the end.
    let bucket: OriginAddress

    /// - Throws: ``MirrorError/unusableURL(_:)`` if the path of an address has characters with a meaning in one of the
    ///   languages.
    package init(address: OriginAddress, bucket: OriginAddress) throws(MirrorError) {
        for each in [address, bucket] {
            let isPlain = each.path.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "/-_.".utf8.contains(byte)
                }
            }
            guard isPlain else { throw .unusableURL(each.url) }
        }
        self.address = address
        self.bucket = bucket
    }

    /// The files with their names.
    package var files: [(name: String, text: String)] {
        [
            ("cloudfront-request.js", cloudFrontRequest), ("cloudfront-response.js", cloudFrontResponse),
            ("cloudflare.js", cloudflare), ("fastly.vcl", vcl(.fastly)), ("varnish.vcl", vcl(.varnish)),
            ("nginx.conf", nginx),
        ]
    }

    // MARK: The description. Patterns are regular expressions of the common kind, without anchors.

    /// The path before every other path, as a pattern.
    private var prefix: String { PathPattern.escape(address.path) }
    private var version: String { "\(prefix)/v[12]" }
    private var collection: String {
        "\(version)/buckets/[A-Za-z0-9][A-Za-z0-9_-]*/collections/[A-Za-z0-9][A-Za-z0-9_-]*"
    }
    private var root: String { "\(version)/" }
    private var monitor: String { "\(version)/buckets/monitor/collections/changes/changeset" }
    private var changeset: String { "(\(collection))/changeset" }
    private var chain: String { "\(prefix)/chains/[A-Za-z0-9._-]+" }
    /// The path of an attachment. No part of it begins with a dot, encoded or not, so that no store reads it as a
    /// parent folder.
    private var attachment: String {
        "\(prefix)/attachments(?:/(?![.]|%2[eE])(?:(?!%2[fF]|%5[cC])[^/])+)+"
    }
    /// An object that may be missing. The edge then redirects to the whole collection.
    private var optional: String {
        "(\(collection))/(?:at/[0-9]+/(?:changeset|since/[a-z0-9]+)|since/[a-z0-9]+)(?:[.]gz)?"
    }
    /// A value of `_expected` that names a state; 0 names none.
    private static let state = "[1-9][0-9]{0,19}"
    /// A value of `_since`.
    private static let since = "[0-9]{1,20}"
    /// The quotation marks that may surround either value.
    private static let quotation = "(?:%22|\")?"
    /// A value of `Accept-Encoding` that allows gzip.
    private static let gzip = "(?:^|[, ])gzip(?! *; *q=0(?:[.]0*)? *(?:,|$))"

    private static let redirectCaching = "public, max-age=60"
    private static let policy = "sandbox; default-src 'none'"
    private var about: [String] {
        [
            "Answers as \(address.url) from the objects of an rsdump upload.",
            "Written by rsdump export --to edge. Every kind of edge has the same rules:",
            "_expected names a state, _since asks for what has changed since one; what is not there is redirected to the",
            "whole collection; readers that take gzip get the compressed copy; nothing else is served.",
        ]
    }

    private func comment(_ mark: String) -> String { about.map { "\(mark) \($0)" }.joined(separator: "\n") }

    // MARK: CloudFront

    private static func javaScript(_ pattern: String) -> String {
        "/^" + pattern.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "\\/") + "$/"
    }

    private var cloudFrontRequest: String {
        #"""
        \#(comment("//"))
        // A CloudFront function (runtime 2.0) for viewer requests. The cache policy has the query string _expected in its key, and
        // respects the origin's Cache-Control. cloudfront-response.js does the rest.
        function number(field, pattern) {
            var found = pattern.exec(field ? field.value : '');
            return found ? found[1] : '';
        }

        function handler(event) {
            var request = event.request, path = request.uri, query = request.querystring, found;
            var state = number(query._expected, \#(Self.javaScript("\(Self.quotation)(\(Self.state))\(Self.quotation)")));
            var since = number(query._since, \#(Self.javaScript("\(Self.quotation)(\(Self.since))\(Self.quotation)")));
            var isDocument = true;
            if (request.method !== 'GET' && request.method !== 'HEAD') {
                return { statusCode: 405, statusDescription: 'Method Not Allowed' };
            }
            request.querystring = {};
            if (\#(Self.javaScript(version)).test(path)) {
                return { statusCode: 307, statusDescription: 'Temporary Redirect', headers: { location: { value: path + '/' } } };
            } else if (\#(Self.javaScript(root)).test(path)) {
                path += 'index.json';
            } else if (\#(Self.javaScript(monitor)).test(path)) {
                if (state) request.querystring._expected = { value: state };  // for the cache alone
            } else if ((found = \#(Self.javaScript(changeset)).exec(path))) {
                path = found[1] + (state ? '/at/' + state : '')
                    + (query._since && query._since.value ? '/since/' + (since || 'unknown') : '/changeset');
            } else if (\#(Self.javaScript(attachment)).test(path)) {
                isDocument = false;
            } else if (!\#(Self.javaScript(chain)).test(path)) {
                return { statusCode: 404, statusDescription: 'Not Found' };
            }
            var accepted = request.headers['accept-encoding'];
            if (isDocument && accepted && /\#(Self.gzip)/.test(accepted.value)) path += '.gz';
            request.uri = path;
            return request;
        }

        """#
    }

    private var cloudFrontResponse: String {
        #"""
        \#(comment("//"))
        // A Lambda@Edge function for origin responses: CloudFront functions see no answer from 400 on. It runs for what no cache has.
        exports.handler = async function (event) {
            const { request, response } = event.Records[0].cf;
            const isMissing = response.status === '403' || response.status === '404';  // 403: the bucket lists nothing
            const optional = \#(Self.javaScript(optional)).exec(request.uri);
            function set(name, value) { response.headers[name.toLowerCase()] = [{ key: name, value }]; }
            if (isMissing) {
                response.status = optional ? '307' : '404';
                response.statusDescription = optional ? 'Temporary Redirect' : 'Not Found';
                response.body = '';
                set('Cache-Control', '\#(Self.redirectCaching)');
                if (optional) set('Location', optional[1] + '/changeset?_expected=0');
            }
            set('X-Content-Type-Options', 'nosniff');
            set('Access-Control-Allow-Origin', '*');
            if (\#(Self.javaScript(attachment)).test(request.uri)) {
                set('Content-Security-Policy', "\#(Self.policy)");
            } else {
                set('Vary', 'Accept-Encoding');
            }
            return response;
        };

        """#
    }

    // MARK: Cloudflare

    private var cloudflare: String {
        #"""
        \#(comment("//"))
        // A Worker. Documents are read from their compressed copy; Cloudflare unpacks it for readers that do not take gzip.
        const bucket = '\#(bucket.url)';

        function redirect(location) {
            return new Response(null, {
                status: 307,
                headers: {
                    'Location': location, 'Cache-Control': '\#(Self.redirectCaching)', 'Access-Control-Allow-Origin': '*',
                },
            });
        }

        function number(value, pattern) {
            const found = pattern.exec(value || '');
            return found ? found[1] : '';
        }

        export default {
            async fetch(request) {
                const url = new URL(request.url), query = url.searchParams;
                const state = number(query.get('_expected'), \#(Self.javaScript("\(Self.quotation)(\(Self.state))\(Self.quotation)")));
                const since = number(query.get('_since'), \#(Self.javaScript("\(Self.quotation)(\(Self.since))\(Self.quotation)")));
                let path = url.pathname, isDocument = true, whole = '', key = '', found;
                if (request.method !== 'GET' && request.method !== 'HEAD') return new Response(null, { status: 405 });
                if (\#(Self.javaScript(version)).test(path)) {
                    return redirect(path + '/');
                } else if (\#(Self.javaScript(root)).test(path)) {
                    path += 'index.json';
                } else if (\#(Self.javaScript(monitor)).test(path)) {
                    if (state) key = '?_expected=' + state;  // for the cache alone
                } else if ((found = \#(Self.javaScript(changeset)).exec(path))) {
                    if (state || query.get('_since')) whole = path + '?_expected=0';
                    path = found[1] + (state ? '/at/' + state : '')
                        + (query.get('_since') ? '/since/' + (since || 'unknown') : '/changeset');
                } else if (\#(Self.javaScript(attachment)).test(path)) {
                    isDocument = false;
                } else if (!\#(Self.javaScript(chain)).test(path)) {
                    return new Response(null, { status: 404 });
                }
                const headers = new Headers();
                for (const name of ['If-None-Match', 'If-Modified-Since', 'Range', 'If-Range']) {
                    if (request.headers.has(name)) headers.set(name, request.headers.get(name));
                }
                const answer = await fetch(
                    bucket + path + (isDocument ? '.gz' : '') + key,
                    { method: request.method, headers, redirect: 'manual', cf: { cacheEverything: true } });
                if (answer.status === 403 || answer.status === 404) {
                    return whole ? redirect(whole) : new Response(null, { status: 404 });
                }
                const response = new Response(answer.body, answer);
                response.headers.set('X-Content-Type-Options', 'nosniff');
                response.headers.set('Access-Control-Allow-Origin', '*');
                if (!isDocument) response.headers.set('Content-Security-Policy', "\#(Self.policy)");
                return response;
            },
        };

        """#
    }

    // MARK: VCL

    private enum VCLDialect { case fastly, varnish }

    private func vcl(_ dialect: VCLDialect) -> String {
        func fail(_ status: Int, _ reason: String) -> String {
            dialect == .fastly ? "error \(status) \"\(reason)\";" : "return (synth(\(status), \"\(reason)\"));"
        }
        func value(_ name: String, _ pattern: String) -> String {
            #"regsub(req.url, "^.*[?&]\#(name)=(?:%22)?(\#(pattern))(?:%22)?(?:&.*)?\z", "\1")"#
        }
        func has(_ name: String, _ pattern: String) -> String {
            #"req.url ~ "[?&]\#(name)=(?:%22)?\#(pattern)(?:%22)?(?:&|\z)""#
        }
        let parts = bucket.host.split(separator: ":").map(String.init)
        let head =
            dialect == .fastly
            ? "# The service's backend is \(bucket.host)."
            : """
            vcl 4.1;
            # Varnish reads the bucket over plain HTTP, or through a proxy that adds TLS.
            backend bucket { .host = "\(parts[0])"; .port = "\(parts.dropFirst().first ?? "80")"; }
            """
        let (received, fetched, delivered, failed) =
            dialect == .fastly
            ? ("\n#FASTLY recv", "\n#FASTLY fetch", "\n#FASTLY deliver", "\n#FASTLY error") : ("", "", "", "")
        let (fetch, problem, answer, end) =
            dialect == .fastly
            ? ("vcl_fetch", "vcl_error", "obj", "\n    return (lookup);")
            : ("vcl_backend_response", "vcl_synth", "resp", "\n    return (hash);")
        return #"""
            \#(comment("#"))
            \#(head)

            sub vcl_recv {\#(received)
                if (req.method !~ "^(?:GET|HEAD)\z") { \#(fail(405, "Method Not Allowed")) }
                # What clients send of these names is not looked at.
                unset req.http.X-RS-Whole;
                unset req.http.X-RS-Location;
                unset req.http.X-RS-Key;
                unset req.http.X-RS-State;
                set req.http.X-RS-Path = regsub(req.url, "\?.*\z", "");
                set req.http.X-RS-Kind = "document";
                if (\#(has("_expected", Self.state))) {
                    set req.http.X-RS-State = \#(value("_expected", Self.state));
                }
                if (req.http.X-RS-Path ~ "^\#(version)\z") {
                    set req.http.X-RS-Location = req.http.X-RS-Path + "/";
                    \#(fail(607, "Redirect"))
                } else if (req.http.X-RS-Path ~ "^\#(root)\z") {
                    set req.http.X-RS-Path = req.http.X-RS-Path + "index.json";
                } else if (req.http.X-RS-Path ~ "^\#(monitor)\z") {
                    # For the cache alone.
                    if (req.http.X-RS-State) { set req.http.X-RS-Key = "?_expected=" + req.http.X-RS-State; }
                } else if (req.http.X-RS-Path ~ "^\#(changeset)\z") {
                    if (req.http.X-RS-State || req.url ~ "[?&]_since=[^&]") {
                        set req.http.X-RS-Whole = req.http.X-RS-Path + "?_expected=0";
                    }
                    set req.http.X-RS-Path = regsub(req.http.X-RS-Path, "/changeset\z", "");
                    if (req.http.X-RS-State) { set req.http.X-RS-Path = req.http.X-RS-Path + "/at/" + req.http.X-RS-State; }
                    if (\#(has("_since", Self.since))) {
                        set req.http.X-RS-Path = req.http.X-RS-Path + "/since/"
                            + \#(value("_since", Self.since));
                    } else if (req.url ~ "[?&]_since=[^&]") {
                        set req.http.X-RS-Path = req.http.X-RS-Path + "/since/unknown";
                    } else {
                        set req.http.X-RS-Path = req.http.X-RS-Path + "/changeset";
                    }
                } else if (req.http.X-RS-Path ~ "^\#(attachment)\z") {
                    set req.http.X-RS-Kind = "attachment";
                } else if (req.http.X-RS-Path !~ "^\#(chain)\z") {
                    \#(fail(404, "Not Found"))
                }
                if (req.http.X-RS-Kind == "document" && req.http.Accept-Encoding ~ "\#(Self.gzip)") {
                    set req.http.X-RS-Path = req.http.X-RS-Path + ".gz";
                }
                set req.url = "\#(bucket.path)" + req.http.X-RS-Path + req.http.X-RS-Key;
                set req.http.Host = "\#(bucket.host)";\#(end)
            }

            sub \#(fetch) {\#(fetched)
                if (beresp.status == 403 || beresp.status == 404) {
                    set beresp.ttl = 60s;
                    return (deliver);
                }
            }

            sub vcl_deliver {\#(delivered)
                # 403: the bucket lists nothing.
                if (resp.status == 403 || resp.status == 404) {
                    set resp.status = 404;
                    set resp.http.Cache-Control = "\#(Self.redirectCaching)";
                    if (req.http.X-RS-Whole) {
                        set resp.status = 307;
                        set resp.http.Location = req.http.X-RS-Whole;
                    }
                }
                set resp.http.X-Content-Type-Options = "nosniff";
                set resp.http.Access-Control-Allow-Origin = "*";
                if (req.http.X-RS-Kind == "attachment") {
                    set resp.http.Content-Security-Policy = "\#(Self.policy)";
                } else {
                    set resp.http.Vary = "Accept-Encoding";
                }
            }

            sub \#(problem) {\#(failed)
                if (\#(answer).status == 607) {
                    set \#(answer).status = 307;
                    set \#(answer).http.Location = req.http.X-RS-Location;
                    return (deliver);
                }
            }

            """#
    }

    // MARK: nginx

    private var nginx: String {
        let parts = bucket.host.split(separator: ":").map(String.init)
        let scheme = bucket.isPlainHTTP ? "http" : "https"
        let port = parts.dropFirst().first ?? (bucket.isPlainHTTP ? "80" : "443")
        let headers = """
            add_header X-Content-Type-Options nosniff always;
                    add_header Access-Control-Allow-Origin * always;
            """
        return #"""
            \#(comment("#"))
            # Include it in the http block of nginx.conf.

            upstream remote_settings_bucket {
                server \#(parts[0]):\#(port);
                keepalive 16;
            }
            proxy_cache_path /var/cache/nginx/remote-settings levels=1:2 keys_zone=remote_settings:10m max_size=1g inactive=7d
                use_temp_path=off;

            map $arg__expected $rs_state {
                default "";
                "~^(?:%22|\")?(?<rs_expected>\#(Self.state))(?:%22|\")?\z" $rs_expected;
            }
            map $rs_state $rs_at {
                "" "";
                default /at/$rs_state;
            }
            map $arg__since $rs_object {
                "" changeset;
                "~^(?:%22|\")?(?<rs_since>\#(Self.since))(?:%22|\")?\z" since/$rs_since;
                default since/unknown;
            }
            map $http_accept_encoding $rs_gzip {
                default "";
                "~\#(Self.gzip)" .gz;
            }
            # Where to redirect what is missing; a whole collection by its own name is not redirected to itself.
            map "$arg__since|$rs_state" $rs_whole {
                "|" "";
                default /changeset?_expected=0;
            }

            server {
                listen 80;  # TLS ends before it
                server_tokens off;
                absolute_redirect off;
                if ($request_method !~ ^(GET|HEAD)$) { return 405; }

                proxy_http_version 1.1;
                proxy_set_header Connection "";
                proxy_set_header Host \#(bucket.host);
                proxy_set_header Accept-Encoding "";
                proxy_ssl_server_name on;
                proxy_ssl_name \#(parts[0]);
                proxy_ssl_verify on;
                proxy_ssl_trusted_certificate /etc/ssl/certs/ca-certificates.crt;
                proxy_cache remote_settings;
                proxy_cache_lock on;
                proxy_cache_use_stale error timeout updating http_500 http_502 http_503 http_504;
                proxy_cache_valid 403 404 60s;
                proxy_cache_key $uri|$rs_key;
                proxy_ignore_headers Vary;
                proxy_hide_header Vary;
                proxy_intercept_errors on;
                # 403: the bucket lists nothing.
                error_page 403 404 = @missing;
                set $rs_key "";
                set $rs_redirect "";

                location ~ "^\#(version)\z" { return 307 $uri/; }
                location ~ "^\#(root)\z" {
                    add_header Vary Accept-Encoding always;
                    \#(headers)
                    rewrite ^ \#(bucket.path)${uri}index.json$rs_gzip? break;
                    proxy_pass \#(scheme)://remote_settings_bucket;
                }
                location ~ "^\#(monitor)\z" {
                    add_header Vary Accept-Encoding always;
                    \#(headers)
                    set $rs_key $rs_state;
                    rewrite ^ \#(bucket.path)$uri$rs_gzip? break;
                    proxy_pass \#(scheme)://remote_settings_bucket;
                }
                location ~ "^\#(changeset)\z" {
                    add_header Vary Accept-Encoding always;
                    \#(headers)
                    set $rs_collection $1;
                    set $rs_redirect $rs_whole;
                    rewrite ^ \#(bucket.path)$rs_collection$rs_at/$rs_object$rs_gzip? break;
                    proxy_pass \#(scheme)://remote_settings_bucket;
                }
                location ~ "^\#(chain)\z" {
                    add_header Vary Accept-Encoding always;
                    \#(headers)
                    rewrite ^ \#(bucket.path)$uri$rs_gzip? break;
                    proxy_pass \#(scheme)://remote_settings_bucket;
                }
                # What somebody attached to a record: never a document of this origin.
                location ~ "^\#(attachment)\z" {
                    \#(headers)
                    add_header Content-Security-Policy "\#(Self.policy)" always;
                    rewrite ^ \#(bucket.path)$uri? break;
                    proxy_pass \#(scheme)://remote_settings_bucket;
                }
                location @missing {
                    if ($rs_redirect = "") { return 404; }
                    add_header Cache-Control "\#(Self.redirectCaching)" always;
                    add_header Access-Control-Allow-Origin * always;
                    return 307 $rs_collection$rs_redirect;
                }
                location / { return 404; }
            }

            """#
    }
}
