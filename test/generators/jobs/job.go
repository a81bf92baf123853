// The main job by the client that openapi-generator makes for Go: sends, reads back, and prints what it saw as JSON.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	herald "example.com/herald/client"
)

const name = "go"

func until[T any](ask func() (T, bool)) T {
	for i := 0; i < 200; i++ {
		if found, ok := ask(); ok {
			return found
		}
		time.Sleep(100 * time.Millisecond)
	}
	log.Fatal("waited in vain")
	panic("unreachable")
}

// done is for an answer that must be there: (answer, HTTP response, error).
func done[T any, R any](answer T, _ R, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return answer
}

func object(pairs map[string]any) map[string]*any {
	fields := map[string]*any{}
	for name, value := range pairs {
		fields[name] = &value
	}
	return fields
}

func main() {
	configuration := herald.NewConfiguration()
	configuration.Servers = herald.ServerConfigurations{{URL: os.Getenv("API_URL")}}
	api := herald.NewAPIClient(configuration)
	byKey := context.WithValue(context.Background(), herald.ContextAPIKeys, map[string]herald.APIKey{"apiKey": {Key: os.Getenv("API_KEY")}})
	byToken := context.WithValue(context.Background(), herald.ContextAccessToken, os.Getenv("API_TOKEN"))

	request := herald.NewNotifyRequest("IN_APP", name)
	request.SetSubject("Hello")
	request.SetBody("Order {{ order.number }} of {{ name }}")
	request.SetData(object(map[string]any{"name": "Ada", "order": map[string]any{"number": 17}}))
	request.SetMetadata(map[string]string{"job": name})
	accepted := done(api.SendingAPI.Notify(byKey).NotifyRequest(*request).Execute())
	record := until(func() (herald.Notification, bool) {
		answer, _, err := api.SendingAPI.GetSentNotification(byKey, accepted.NotificationId).Execute()
		if err != nil || answer.Notification.Status != "DELIVERED" {
			return herald.Notification{}, false
		}
		return answer.Notification, true
	})
	inbox := done(api.InboxAPI.ListInbox(byKey, name).Execute())
	titles, ids := []string{}, []string{}
	for _, item := range inbox.Notifications {
		titles, ids = append(titles, *item.Title.Get()), append(ids, item.Id)
	}
	marking := herald.NewMarkInboxReadRequest()
	marking.SetIds(ids)
	marked := done(api.InboxAPI.MarkInboxRead(byKey, name).MarkInboxReadRequest(*marking).Execute())
	key := done(api.TenantAPI.CreateKey(byToken).CreateKeyRequest(*herald.NewCreateKeyRequest(name, []string{"notify"})).Execute())
	template := done(api.TemplatesAPI.CreateTemplate(byToken).CreateTemplateRequest(*herald.NewCreateTemplateRequest(name, "SMS", "{{ code }} {{ other }}")).Execute())
	previewing := herald.NewPreviewTemplateRequest()
	previewing.SetData(object(map[string]any{"code": 1234}))
	preview := done(api.TemplatesAPI.PreviewTemplate(byToken, template.Id).PreviewTemplateRequest(*previewing).Execute())
	saving := herald.NewSaveProviderRequest("EMAIL", "resend", "re_0123456789abcdef")
	saving.SetConfig(object(map[string]any{"fromName": name, "fromEmail": "hello@acme.example"}))
	provider := done(api.ProvidersAPI.SaveProvider(byToken).SaveProviderRequest(*saving).Execute())
	listed := until(func() ([]bool, bool) {
		page := done(api.LogAPI.ListNotifications(byToken).Metadata(map[string]string{"job": name}).Execute())
		are := []bool{}
		for _, one := range page.Data {
			are = append(are, one.Id == accepted.NotificationId)
		}
		return are, len(are) > 0
	})
	wrong := herald.NewNotifyRequest("SMS", "nobody")
	wrong.SetBody("x")
	_, _, err := api.SendingAPI.Notify(byKey).NotifyRequest(*wrong).Execute()
	refusal := err.(*herald.GenericOpenAPIError).Model().(herald.Error)

	seen, err := json.Marshal(map[string]any{
		"accepted": accepted.Status, "body": record.Body, "data": record.Data, "inbox": titles, "unread": inbox.UnreadCount,
		"updated": marked.Updated, "scopes": key.Scopes, "key": key.Key[:3], "preview": preview.Body, "missing": preview.Missing,
		"config": provider.Config, "listed": listed, "refused": []string{refusal.Code, refusal.Details[0].Path},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(seen))
}
