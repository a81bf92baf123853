"""The main job by the client that openapi-python-client makes: sends, reads back, and prints what it saw as JSON."""

import json
import os
import time

from herald import AuthenticatedClient
from herald.api.inbox import list_inbox, mark_inbox_read
from herald.api.log import list_notifications
from herald.api.providers import save_provider
from herald.api.sending import get_sent_notification, notify
from herald.api.templates import create_template, preview_template
from herald.api.tenant import create_key
from herald.models import (
    CreateKeyBody,
    CreateKeyBodyScopesItem,
    CreateTemplateBody,
    CreateTemplateBodyChannel,
    ListNotificationsMetadata,
    MarkInboxReadBody,
    NotifyBody,
    NotifyBodyChannel,
    NotifyBodyData,
    NotifyBodyMetadata,
    PreviewTemplateBody,
    PreviewTemplateBodyData,
    SaveProviderBody,
    SaveProviderBodyChannel,
    SaveProviderBodyConfig,
)

url, name = os.environ["API_URL"], "python"
by_key = AuthenticatedClient(base_url=url, token=os.environ["API_KEY"], prefix="", auth_header_name="x-api-key")
by_token = AuthenticatedClient(base_url=url, token=os.environ["API_TOKEN"])


def until(ask):
    for _ in range(200):
        found = ask()
        if found is not None:
            return found
        time.sleep(0.1)
    raise SystemExit("waited in vain")


def delivered():
    answer = get_sent_notification.sync(accepted.notification_id, client=by_key)
    record = getattr(answer, "notification", None)
    return record if record is not None and record.status.value == "DELIVERED" else None


def listed():
    # This client writes the fields of a query's object as parameters of their own.
    wanted = ListNotificationsMetadata.from_dict({"metadata[job]": name})
    page = list_notifications.sync(client=by_token, metadata=wanted)
    return page.data if len(page.data) > 0 else None


data = {"name": "Ada", "order": {"number": 17}}
accepted = notify.sync(
    client=by_key,
    body=NotifyBody(
        channel=NotifyBodyChannel.IN_APP,
        recipient=name,
        subject="Hello",
        body="Order {{ order.number }} of {{ name }}",
        data=NotifyBodyData.from_dict(data),
        metadata=NotifyBodyMetadata.from_dict({"job": name}),
    ),
)
record = until(delivered)
inbox = list_inbox.sync(name, client=by_key)
marked = mark_inbox_read.sync(name, client=by_key, body=MarkInboxReadBody(ids=[inbox.notifications[0].id]))
key = create_key.sync(client=by_token, body=CreateKeyBody(name=name, scopes=[CreateKeyBodyScopesItem.NOTIFY]))
template = create_template.sync(
    client=by_token,
    body=CreateTemplateBody(name=name, channel=CreateTemplateBodyChannel.SMS, body="{{ code }} {{ other }}"),
)
preview = preview_template.sync(
    template.id, client=by_token, body=PreviewTemplateBody(data=PreviewTemplateBodyData.from_dict({"code": 1234}))
)
provider = save_provider.sync(
    client=by_token,
    body=SaveProviderBody(
        channel=SaveProviderBodyChannel.EMAIL,
        provider="resend",
        api_key="re_0123456789abcdef",
        config=SaveProviderBodyConfig.from_dict({"fromName": name, "fromEmail": "hello@acme.example"}),
    ),
)
refused = notify.sync(client=by_key, body=NotifyBody(channel=NotifyBodyChannel.SMS, recipient="nobody", body="x"))
print(
    json.dumps(
        {
            "accepted": accepted.status,
            "body": record.body,
            "data": record.data.to_dict(),
            "inbox": [item.title for item in inbox.notifications],
            "unread": inbox.unread_count,
            "updated": marked.updated,
            "scopes": [scope.value for scope in key.scopes],
            "key": key.key[:3],
            "preview": preview.body,
            "missing": preview.missing,
            "config": provider.config.to_dict(),
            "listed": [one.id == accepted.notification_id for one in until(listed)],
            "refused": [refused.code.value, refused.details[0].path],
        }
    )
)
