import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The style sheet that each document contains. The content security policy allows only this style sheet, by its hash
/// (CSP 3 §8.3).
enum StyleSheet {
    static let text: StaticString = """
        :root{color-scheme:light dark;--paper:#faf9f5;--raised:#fff;--ink:#23282d;--soft:#5a6168;--line:#dedad0;
        --accent:#0a5a6e;--wash:#eef3f3;--good:#1b6438;--good-wash:#e5f1e8;--care:#7a4a00;--care-wash:#f8edd8;
        --bad:#9b1f1b;--bad-wash:#fae6e4;
        --sans:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif;
        --mono:ui-monospace,SFMono-Regular,"Cascadia Mono","Noto Sans Mono","Liberation Mono",Menlo,monospace}
        @media(prefers-color-scheme:dark){:root{--paper:#15181b;--raised:#1c2024;--ink:#e6e3db;--soft:#a6acb2;
        --line:#343a40;--accent:#86c9da;--wash:#1f282c;--good:#8ad3a2;--good-wash:#1a2e22;--care:#e6bd6e;
        --care-wash:#322813;--bad:#f39b93;--bad-wash:#381e1d}}
        *{box-sizing:border-box}
        html{font:100%/1.55 var(--sans);background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%}
        body{margin:0;overflow-wrap:break-word}
        a{color:var(--accent);text-underline-offset:.18em;text-decoration-thickness:1px}
        a:hover{text-decoration-thickness:2px}
        :focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:3px}
        main:focus{outline:none}
        .skip{position:absolute;left:-999rem;top:.5rem;background:var(--raised);padding:.5rem 1rem;z-index:1}
        .skip:focus{left:.5rem}
        .frame{max-width:76rem;margin:0 auto;padding:0 1.5rem}
        header.site{border-bottom:1px solid var(--line)}
        header.site .frame{padding-top:.9rem;padding-bottom:.9rem}
        nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.15rem .6rem}
        nav.trail li+li::before{content:"/";color:var(--soft);margin-right:.6rem}
        nav.trail a{text-decoration:none}
        nav.trail a:hover{text-decoration:underline}
        nav.trail [aria-current]{color:var(--soft)}
        main{padding:2rem 0 3rem}
        h1{font-size:1.75rem;line-height:1.2;font-weight:650;letter-spacing:-.015em;margin:0 0 .4rem;text-wrap:balance}
        h2{font-size:1.2rem;line-height:1.3;font-weight:650;letter-spacing:-.005em;margin:2.5rem 0 .75rem}
        h3{font-size:1rem;font-weight:650;margin:1.5rem 0 .5rem}
        p{margin:.5rem 0;max-width:44rem}
        .lead{color:var(--soft);font-size:1.05rem;margin:0 0 1.5rem;max-width:none}
        .soft{color:var(--soft)}
        small{font-size:.84rem}
        code,pre{font-family:var(--mono);font-size:.84rem}
        .bucket{color:var(--soft)}
        form.search{display:flex;flex-wrap:wrap;gap:.5rem .75rem;align-items:end;margin:1.25rem 0}
        form.search label{display:block;font-size:.84rem;color:var(--soft);margin-bottom:.2rem}
        form.search .field{flex:0 1 26rem;min-width:12rem}
        input,select,button{font:inherit;color:inherit;border:1px solid var(--soft);border-radius:6px;
        padding:.42rem .7rem;background:var(--raised);min-height:2.75rem}
        input,select{width:100%}
        button{background:var(--accent);border-color:var(--accent);color:var(--paper);font-weight:600;cursor:pointer}
        table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
        caption{text-align:left;color:var(--soft);font-size:.92rem;padding:0 0 .6rem}
        th,td{text-align:left;vertical-align:top;padding:.62rem .9rem .62rem 0;border-bottom:1px solid var(--line)}
        th:last-child,td:last-child{padding-right:0}
        thead th{font-size:.8rem;font-weight:600;color:var(--soft);border-bottom-color:var(--soft);
        white-space:nowrap;vertical-align:bottom}
        tbody th{font-weight:600}
        .number{text-align:right}
        tbody tr:hover{background:var(--wash)}
        td small{display:block;color:var(--soft);line-height:1.4}
        .nowrap{white-space:nowrap}
        .verdict{display:inline-block;margin:.1rem 0;font-size:.84rem;font-weight:600;border-radius:1rem;padding:.02rem .65rem;
        white-space:nowrap;color:var(--soft);background:var(--wash)}
        .good{color:var(--good);background:var(--good-wash)}
        .care{color:var(--care);background:var(--care-wash)}
        .bad{color:var(--bad);background:var(--bad-wash)}
        dl.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,15rem),1fr));gap:1rem 2rem;margin:1.5rem 0}
        dl.facts>div{border-top:1px solid var(--line);padding-top:.45rem;min-width:0}
        dl.facts>.wide{grid-column:span 2}
        dt{font-size:.8rem;color:var(--soft)}
        dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
        dd small{display:block;color:var(--soft)}
        .records th{width:1%;min-width:13rem}
        .records th a{font-family:var(--mono);font-size:.84rem;font-weight:400;overflow-wrap:anywhere}
        .member-name{color:var(--soft)}
        .says{overflow-wrap:anywhere}
        .records td.says{width:100%}
        .records.with-files td:last-child{min-width:17rem}
        .member+.member::before{content:" \\B7  ";color:var(--soft)}
        .file{display:flex;gap:.6rem;align-items:flex-start;min-width:0}
        .file a{overflow-wrap:anywhere;min-width:0}
        .file .soft{white-space:nowrap}
        .file img{flex:none}
        img{max-width:100%;background:repeating-conic-gradient(#d5d2ca 0 25%,#f6f4ee 0 50%) 0 0/16px 16px;
        border-radius:4px;object-fit:contain}
        figure{margin:1rem 0}
        figure img{display:block;max-height:28rem;height:auto;border:1px solid var(--line)}
        figcaption{color:var(--soft);font-size:.92rem;margin-top:.5rem}
        pre{margin:0;padding:1rem 1.1rem;background:var(--raised);border:1px solid var(--line);border-radius:6px;
        overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.6;tab-size:4}
        pre.file-text{max-height:28rem}
        .key{color:var(--accent)}
        .literal{color:var(--care)}
        .string{unicode-bidi:isolate}
        .hidden-character{font:600 .72em/1 var(--mono);color:var(--bad);border:1px solid;border-radius:3px;
        padding:0 .25em;margin:0 .1em;white-space:nowrap;unicode-bidi:isolate}
        .pages{margin:1.5rem 0;display:flex;flex-wrap:wrap;gap:.5rem 1.25rem;align-items:baseline}
        .notice{border-left:4px solid;padding:.6rem 1rem;margin:1rem 0;border-radius:0 6px 6px 0;max-width:none}
        .changes{margin:0;padding:0;list-style:none}
        .changes>li{border-top:1px solid var(--line);padding:.8rem 0}
        .changes h3{margin-top:0}
        .changes dl{margin:.5rem 0}
        .changes dt{margin:.6rem 0 .15rem}
        del,ins{text-decoration:none;display:block;font-family:var(--mono);font-size:.84rem;padding:.15rem .6rem;
        border-left:3px solid;white-space:pre-wrap;overflow-wrap:anywhere}
        footer{border-top:1px solid var(--line);color:var(--soft);font-size:.88rem;padding:1rem 0 2rem}
        .unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
        @media(max-width:46rem){.frame{padding:0 1rem}main{padding-top:1.4rem}h1{font-size:1.45rem}
        table,tbody,tr,th,td,caption{display:block}
        thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        tbody tr{display:grid;grid-template-columns:1.05fr .9fr 1.15fr .9fr;gap:.35rem .6rem;padding:.9rem 0;
        border-bottom:1px solid var(--line)}
        tbody th,td{border:0;padding:0;min-width:0}
        tbody th,td.wide{grid-column:1/-1}
        .number{text-align:left}
        td[data-label]::before{content:attr(data-label);display:block;font-size:.75rem;color:var(--soft)}
        td:empty{display:none}
        .collections td.wide small{display:inline;margin-left:.6rem}
        td.beside[data-label]::before{display:inline;margin-right:.6rem}
        .records tbody tr{grid-template-columns:6.5rem 1fr}
        .records th,.records td.says,.records.with-files td:last-child{width:auto;min-width:0}
        dl.facts{grid-template-columns:1.3fr 1fr;gap:.8rem 1rem}
        .nowrap{white-space:normal}
        time.nowrap{white-space:nowrap}
        form.search .field{flex:1 1 9rem;min-width:0}
        form.compare .field{flex-basis:100%}
        pre{padding:.8rem}}
        @media(prefers-contrast:more){:root{--soft:var(--ink);--line:var(--ink)}}
        @media print{form,.pages,.skip{display:none}}
        """

    /// The source expression for `style-src`: `sha256-` and base64.
    static let hash = "sha256-" + Data(SHA256Digest(hashing: Bytes(utf8: "\(text)")).bytes).base64EncodedString()
}
