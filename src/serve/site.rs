//! Which address leads where, and what stands at the head of every answer.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path as Name, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;

use super::follow::{Following, stream};
use super::guard;
use super::pages;
use super::shelf::{Found, Shelf};
use crate::report::html;

/// What every answer says to browsers: nobody else may read it, frame it, guess at it or keep it.
const ALWAYS: [(&str, &str); 6] = [
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
];

type Records = State<Arc<Shelf>>;

/// All that is served.
pub fn routes(shelf: Arc<Shelf>) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/record/{name}", get(record))
        .route("/live/{name}", get(live))
        .route("/live/{name}/events", get(events))
        .route("/live.js", get(script))
        .fallback(|| async { nowhere() })
        .layer(from_fn(guarded))
        .with_state(shelf)
}

/// Asks the guard first, and heads every answer.
async fn guarded(request: Request, next: Next) -> Response {
    let (method, uri) = (request.method(), request.uri());
    let mut answer = match guard::check(method, uri, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            let is_of_method = refusal.status == StatusCode::METHOD_NOT_ALLOWED;
            let page = pages::words("acklab: not answered", refusal.words);
            let mut answer = (refusal.status, Html(page)).into_response();
            if is_of_method {
                let allowed = HeaderValue::from_static("GET, HEAD");
                answer.headers_mut().insert(header::ALLOW, allowed);
            }
            answer
        }
    };
    let headers = answer.headers_mut();
    for (name, value) in ALWAYS {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_static(pages::POLICY);
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(policy);
    answer
}

async fn list(State(shelf): Records) -> Response {
    apart(move || match shelf.told() {
        Ok(all) => Html(pages::list(&shelf.name(), &all)).into_response(),
        Err(error) => {
            let said = format!("The folder {} cannot be read: {error}.", shelf.name());
            failed(&said)
        }
    })
    .await
}

async fn record(State(shelf): Records, Name(name): Name<String>) -> Response {
    apart(move || {
        let Some(path) = shelf.find(&name) else {
            return nowhere();
        };
        match shelf.page(&path) {
            Found::Page(page) => {
                // The page says itself what it may load and run.
                let policy = format!("{}; frame-ancestors 'none'", html::policy());
                ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response()
            }
            Found::Empty => {
                let said = "It holds no finished measurement of a cell, and no trial of a fault: \
                            there is nothing to show yet.";
                Html(pages::words(&name, said)).into_response()
            }
            Found::Unreadable(why) => failed(&format!("{name} cannot be read: {why}.")),
        }
    })
    .await
}

async fn live(State(shelf): Records, Name(name): Name<String>) -> Response {
    apart(move || {
        let Some(path) = shelf.find(&name) else {
            return nowhere();
        };
        let mut following = Following::of(shelf, path);
        match following.state() {
            Ok(_) if following.is_finished() => {
                Redirect::to(&pages::record_at(&name)).into_response()
            }
            Ok(state) => Html(pages::live(&name, state)).into_response(),
            Err(why) => failed(&format!("{name} cannot be read: {why}.")),
        }
    })
    .await
}

async fn events(State(shelf): Records, Name(name): Name<String>) -> Response {
    let shelf_of_stream = shelf.clone();
    let found = tokio::task::spawn_blocking(move || shelf.find(&name)).await;
    let Ok(Some(path)) = found else {
        return nowhere();
    };
    let events = stream(Following::of(shelf_of_stream, path));
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

async fn script() -> Response {
    let kind = HeaderValue::from_static("text/javascript; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], pages::SCRIPT).into_response()
}

/// Reads files beside whatever else is answered.
async fn apart(work: impl FnOnce() -> Response + Send + 'static) -> Response {
    let worked = tokio::task::spawn_blocking(work).await;
    worked.unwrap_or_else(|_| failed("This page could not be worked out: a fault of acklab's own."))
}

fn failed(said: &str) -> Response {
    let page = pages::words("acklab: cannot be shown", said);
    (StatusCode::INTERNAL_SERVER_ERROR, Html(page)).into_response()
}

fn nowhere() -> Response {
    let said = "Nothing is here. Records are found by their names in the list.";
    let page = pages::words("acklab: nothing here", said);
    (StatusCode::NOT_FOUND, Html(page)).into_response()
}
