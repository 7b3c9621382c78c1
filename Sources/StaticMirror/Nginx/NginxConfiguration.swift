import FileStorage
import RemoteSettingsModel
import SnapshotOrigin

/// The configuration with which nginx serves a mirror: a file to include in its `http` block.
struct NginxConfiguration {
    let address: OriginAddress
    /// The path of this file. Like ``root``, it has no characters with a meaning in nginx's configuration.
    let configuration: String
    /// The link to the tree.
    let root: String
    /// The settings of the update channel; `nil` for none.
    let updates: MirrorUpdates?

    /// The path before every other path, such as `/mirror`. It is decoded, because nginx compares it with the decoded
    /// path of a request.
    private var path: String { PercentEncoding.decode(address.path) }

    /// The path as part of a quoted regular expression.
    private var prefix: String { PathPattern.escape(path) }

    /// A folder's path, quoted, for a location that is not a regular expression.
    private func literal(_ folder: String) -> String {
        // The path has no backslash: MirrorPath refuses it.
        "\"" + (path + folder).split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"") + "\""
    }

    /// The directive `listen`. A loopback address is used as it is; with any other address, a proxy stands in front of
    /// nginx.
    private var listen: String {
        let parts = address.host.split(separator: ":").map(String.init)
        let isLocal = address.host.hasPrefix("127.") || address.host.hasPrefix("[::1]") || parts.first == "localhost"
        guard address.isPlainHTTP else { return "    listen 80;  # TLS ends before it" }
        return isLocal
            ? "    listen \(address.host);" : "    listen \(parts.count == 2 ? parts[1] : "80");"
    }

    /// Replaces the file if its content differs.
    func write(to path: String) throws {
        let text = Bytes(utf8: text)
        let isSecret = updates?.redis?.hasPassword == true
        if try FileStore.read(path, limit: 1 << 20) == text {
            if try !isSecret || !FileStore.isOpenToOthers(path) { return }
        }
        try FileStore.replace(path, with: text, isPrivate: isSecret)
    }

    /// The channel's name in nginx and in Redis. It comes from the mirror's address, so that only copies of one mirror
    /// share it.
    private var channel: String { "remote_settings_\(SHA256Digest(hashing: Bytes(utf8: address.url)).hex.prefix(16))" }

    private var redisPass: String { updates?.redis == nil ? "" : "\n        nchan_redis_pass \(channel);" }

    /// The directives by which nchan serves the channel.
    ///
    /// nchan keeps one message. With `oldest` a newcomer gets it at once; with `newest` it would wait for the next one.
    /// With `-1`, two newcomers to a channel without a message end the worker (an assertion in nchan 1.3.6). The id
    /// that a client brings is ignored. It may come from a host whose clock is ahead, and nchan would then make a
    /// subscriber that hears nothing.
    private var subscriber: String {
        """
                nchan_subscriber eventsource;
                nchan_channel_group \(channel);
                nchan_channel_id updates;\(redisPass)
                nchan_subscriber_first_message oldest;
                nchan_subscriber_last_message_id "";
                nchan_eventsource_ping_interval 15;
                nchan_eventsource_ping_event "";
                nchan_eventsource_ping_comment heartbeat;
                nchan_access_control_allow_origin "*";
        """
    }

    /// The body of the public location when nchan itself may answer.
    private var direct: String {
        """
                if ($remote_settings_reads_nchan = "") { return 418; }
        \(subscriber)
        \(Self.streamHeaders)
        """
    }

    private static let streamHeaders = """
                add_header Cache-Control "no-cache, no-transform";
                add_header X-Accel-Buffering no;
                add_header X-Content-Type-Options nosniff;
        """

    /// The settings that the channel needs outside the servers.
    private func channelSettings(_ updates: MirrorUpdates) -> String {
        """
        # nchan refuses whoever does not name text/event-stream in Accept, and sends no HTTP/1.1 chunks, without which some
        # readers wait for kilobytes. Browsers and swift-remote-settings read it as it is.
        map "$http_sec_fetch_mode|$http_accept|$http_accept_encoding|$http_cache_control" $remote_settings_reads_nchan {
            default                                "";
            "~^[a-z-]+\\|[^|]*text/event-stream"    yes;
            "|text/event-stream|identity|no-store" yes;
        }

        # Where the second hop comes from: one address has no more than some 28,000 ports for it.
        map $request_id $remote_settings_source {
            default   127.0.0.1;
            "~^[0-3]" 127.0.0.2;
            "~^[4-7]" 127.0.0.3;
            "~^[89ab]" 127.0.0.4;
        }

        # The milliseconds after which a browser tries again, from 3000 to 7999, by the digits of a random number.
        map $request_id $remote_settings_retry {
            default                                      5000;
            "~^.*?([3-7]).*?([0-9]).*?([0-9]).*?([0-9])" $1$2$3$4;
        }


        """
            + (updates.redis.map(upstream) ?? "")
    }

    private func upstream(_ redis: RedisAddress) -> String {
        """
        # The hosts that share the channel.
        upstream \(channel) {
            nchan_redis_server "\(redis.url)";
        }


        """
    }

    /// The locations for subscribers: an event stream at `/v1/updates` and `/v2/updates`.
    private func subscribers(_ updates: MirrorUpdates) -> String {
        """
            # The update channel, which Debian's libnginx-mod-nchan serves: the last event, and each one that is posted
            # from then on. Readers that nchan does not suit get it by a second hop, which names the type and makes chunks.
            # With Redis it is for all.
            location ~ "^\(prefix)/v[12]/updates\\z" {
                recursive_error_pages on;
                error_page 418 = @remote_settings_hop;
                error_page 419 =200 @remote_settings_later;
                # nchan takes it for a GET, and sends nothing.
                if ($request_method = HEAD) { return 419; }
        \(updates.redis == nil ? direct : "        return 418;")
            }
            location @remote_settings_hop {
                # After a status other than 200, a browser would never come back. nchan has such a one while Redis is away.
                proxy_intercept_errors on;
                error_page 500 502 503 504 =200 @remote_settings_later;
                rewrite ^ /updates? break;
                proxy_bind $remote_settings_source;
                proxy_pass http://127.0.0.1:\(updates.port);
                proxy_http_version 1.1;
                proxy_set_header Connection "";
                proxy_set_header Accept text/event-stream;
                proxy_buffering off;
        \(Self.streamHeaders)
            }
            location @remote_settings_later {
                default_type text/event-stream;
                add_header Access-Control-Allow-Origin *;
        \(Self.streamHeaders)
                return 200 "retry: $remote_settings_retry\\n\\n";
            }


        """
    }

    /// The publisher's server, which is separate from the public one.
    ///
    /// So a proxy on the same machine that passes requests from anywhere to the public server does not reach it. A web
    /// page that is open on the machine does not reach it either, because a browser names the page's origin.
    private func publisher(_ updates: MirrorUpdates) -> String {
        """

        # Takes update events, from this machine only: rsdump export --notify http://127.0.0.1:\(updates.port)/publish
        server {
            listen 127.0.0.1:\(updates.port);
            server_tokens off;
            location = /publish {
                if ($request_method !~ ^(GET|HEAD|POST)$) { return 405; }
                if ($http_origin != "") { return 403; }
                allow 127.0.0.1;
                deny all;
                client_max_body_size 4k;
                nchan_publisher http;
                nchan_channel_group \(channel);
                nchan_channel_id updates;\(redisPass)
                nchan_message_buffer_length 1;
                nchan_message_timeout 0;
            }
            # Behind the second hop.
            location = /updates {
                if ($request_method != GET) { return 405; }
        \(subscriber)
            }
            location / { return 404; }
        }

        """
    }

    var text: String {
        """
        # Serves a static mirror of Remote Settings as \(address.url).
        # Written by rsdump export --to mirror; include it in the http block of nginx.conf:
        #     include "\(configuration)";

        # _since: a number, bare or in quotation marks. Where its delta is not among the files, try_files goes on.
        map $arg__since $remote_settings_changeset {
            ""                                     "changeset";
            "~^(?:%22)?(?<rs_since>[0-9]+)(?:%22)?$" "since/$rs_since";
            default                                "since/unknown";
        }

        \(updates.map(channelSettings) ?? "")server {
        \(listen)
            server_tokens off;
            autoindex off;
            gzip_vary on;
            absolute_redirect off;
            root "\(root)";

            # Types are said below, once for each kind of file.
            types { }
            default_type application/octet-stream;
            add_header X-Content-Type-Options nosniff always;
            add_header Access-Control-Allow-Origin * always;
            if ($request_method !~ ^(GET|HEAD)$) { return 405; }

            # A $ would let a line feed through, into the Location of a redirect; \\z is the end.
            # Changesets. _expected busts caches, and says nothing else to files.
            location ~ "^(?<rs_collection>\(prefix)/v[12]/buckets/[A-Za-z0-9][A-Za-z0-9_-]*/collections/[A-Za-z0-9][A-Za-z0-9_-]*)/changeset\\z" {
                default_type application/json;
                gzip_static on;
                add_header Cache-Control "public, max-age=60" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                try_files $rs_collection/$remote_settings_changeset @full;
            }

            # No such delta: to the whole collection, which replaces what a client has (it has no tombstones).
            location @full {
                if ($arg__since = "") { return 404; }
                add_header Cache-Control "public, max-age=60" always;
                add_header Access-Control-Allow-Origin * always;
                return 307 $uri?_expected=$arg__expected;
            }

            location ~ "^\(prefix)/v[12]/\\z" {
                default_type application/json;
                gzip_static on;
                add_header Cache-Control "public, max-age=3600" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                try_files ${uri}index.json =404;
            }
            location ~ "^\(prefix)/v[12]\\z" { return 307 $uri/; }

            # Their names are hashes of their content.
            location ^~ \(literal("/chains/")) {
                default_type application/x-pem-file;
                gzip_static on;
                add_header Cache-Control "public, max-age=31536000, immutable" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                try_files $uri =404;
            }

            # Made anew at their address when a collection changes.
            location ^~ \(literal("/attachments/bundles/")) {
                add_header Cache-Control "public, max-age=3600" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                try_files $uri =404;
            }

            # What somebody attached to a record: never a document of this origin.
            location ^~ \(literal("/attachments/")) {
                add_header Cache-Control "public, max-age=86400" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                add_header Content-Security-Policy "sandbox; default-src 'none'" always;
                try_files $uri =404;
            }

        \(updates.map(subscribers) ?? "")    location / { return 404; }
        }

        """ + (updates.map(publisher) ?? "")
    }
}
