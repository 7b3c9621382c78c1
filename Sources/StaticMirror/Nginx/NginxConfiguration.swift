import FileStorage
import RemoteSettingsModel
import SnapshotOrigin

/// The configuration by which nginx serves a mirror: a file to be included in its `http` block.
struct NginxConfiguration {
    let address: OriginAddress
    /// The path of this file. Like ``root``, it has no characters with a meaning in nginx's configuration.
    let configuration: String
    /// The link to the tree.
    let root: String
    /// The loopback port on which nginx takes update events; `nil` for no update channel.
    let updatesPort: Int?

    /// The path that precedes every path, such as `/mirror`, as a regular expression.
    private var prefix: String {
        address.path.reduce(into: "") { text, character in
            let isPlain = character.isLetter || character.isNumber || "/-_".contains(character)
            text += isPlain ? "\(character)" : "\\\(character)"
        }
    }

    /// The directive `listen`. A loopback address is used as it is; any other address belongs to a proxy in front of nginx.
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
        if try FileStore.read(path, limit: 1 << 20) == text { return }
        try FileStore.replace(path, with: text)
    }

    /// The subscribers' locations: an event stream at `/v1/updates` and `/v2/updates`.
    ///
    /// As one message is kept, `oldest` is the last one, which a newcomer gets at once; `newest` would wait for the next one. With
    /// `-1`, two newcomers to a channel without a message end the worker (an assertion in nchan 1.3.6). The id that a client
    /// brings is not looked at: of one from a host whose clock is ahead, nchan would make a subscriber that hears nothing.
    private func subscribers(_ port: Int) -> String {
        """
            # The update channel, which Debian's libnginx-mod-nchan serves: the last event, and each one that is posted
            # from then on.
            location ~ ^\(prefix)/v[12]/updates\\z {
                nchan_subscriber eventsource;
                nchan_channel_group remote_settings_\(port);
                nchan_channel_id updates;
                nchan_subscriber_first_message oldest;
                nchan_subscriber_last_message_id "";
                nchan_eventsource_ping_interval 15;
                nchan_eventsource_ping_event "";
                nchan_eventsource_ping_comment heartbeat;
                nchan_access_control_allow_origin "*";
                add_header Cache-Control "no-cache, no-transform";
                add_header X-Accel-Buffering no;
                add_header X-Content-Type-Options nosniff;
            }


        """
    }

    /// The publisher has a server of its own: a proxy on the same machine, which passes on to the public one what comes from
    /// anywhere, does not reach it.
    private func publisher(_ port: Int) -> String {
        """

        # Takes update events, from this machine only: rsdump export --notify http://127.0.0.1:\(port)/publish
        server {
            listen 127.0.0.1:\(port);
            server_tokens off;
            if ($request_method !~ ^(GET|HEAD|POST)$) { return 405; }
            location = /publish {
                allow 127.0.0.1;
                deny all;
                client_max_body_size 4k;
                nchan_publisher http;
                nchan_channel_group remote_settings_\(port);
                nchan_channel_id updates;
                nchan_message_buffer_length 1;
                nchan_message_timeout 0;
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

        server {
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
            location ~ ^(?<rs_collection>\(prefix)/v[12]/buckets/[A-Za-z0-9][A-Za-z0-9_-]*/collections/[A-Za-z0-9][A-Za-z0-9_-]*)/changeset\\z {
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

            location ~ ^\(prefix)/v[12]/\\z {
                default_type application/json;
                gzip_static on;
                add_header Cache-Control "public, max-age=3600" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                try_files ${uri}index.json =404;
            }
            location ~ ^\(prefix)/v[12]\\z { return 307 $uri/; }

            # Their names are hashes of their content.
            location ^~ \(prefix)/chains/ {
                default_type application/x-pem-file;
                gzip_static on;
                add_header Cache-Control "public, max-age=31536000, immutable" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                try_files $uri =404;
            }

            # Made anew at their address when a collection changes.
            location ^~ \(prefix)/attachments/bundles/ {
                add_header Cache-Control "public, max-age=3600" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                try_files $uri =404;
            }

            # What somebody attached to a record: never a document of this origin.
            location ^~ \(prefix)/attachments/ {
                add_header Cache-Control "public, max-age=86400" always;
                add_header X-Content-Type-Options nosniff always;
                add_header Access-Control-Allow-Origin * always;
                add_header Content-Security-Policy "sandbox; default-src 'none'" always;
                try_files $uri =404;
            }

        \(updatesPort.map(subscribers) ?? "")    location / { return 404; }
        }

        """ + (updatesPort.map(publisher) ?? "")
    }
}
